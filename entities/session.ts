import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Identity } from './identity.js';
import { SsoConnection } from './sso-connection.js';

/** An Identity's sign-in to an Environment with one browser; its id is the `sid` of the tokens. */
@Entity('sessions')
@Index('sessions_browser', ['browserHash', 'environmentId'], { unique: true, where: 'revoked_at is null' })
@Index('sessions_identity', ['identityId', 'environmentId'])
@Index('sessions_expiry', ['expiresAt', 'id'])
@Index('sessions_sso_connection', ['ssoConnectionId'], { where: 'sso_connection_id is not null' })
@Index('sessions_former_sso_connections', ['environmentId'], { where: 'former_sso_connection_ids is not null' })
export class Session {
  @PrimaryColumn('uuid') id!: string;
  /** No foreign key, nor for the Environment: what a sign-in writes locks neither of them (docs/decisions/0112). */
  @Column('uuid') accountId!: string;
  @Column('uuid') environmentId!: string;
  @ForeignKey(() => Identity, { name: 'sessions_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  identityId!: string;
  /** Hash of the `hosted_session` cookie. One cookie serves the sessions of a browser in several Environments. */
  @Column('bytea') browserHash!: Buffer;
  /** When the person signed in with a first factor: the session's lifetime counts from then. */
  @Column('timestamptz') authenticatedAt!: Date;
  /** When an identity provider checked it (`auth_time`); 1970 if the provider does not say, null: `authenticatedAt`. */
  @Column('timestamptz', { nullable: true }) authTime!: Date | null;
  @Column('text', { array: true }) amr!: string[];
  @Column('text') acr!: string;
  /** When a second factor was last proved in this session, or a trusted device replaced it. */
  @Column('timestamptz', { nullable: true }) secondFactorAt!: Date | null;
  /**
   * When the person last proved a factor of their own, not an identity provider's. Null if an older release wrote it.
   */
  @Column('timestamptz', { nullable: true }) ownFactorAt!: Date | null;
  /** The identity provider of the sign-in that began it, or last renewed it, if there was one. */
  @ForeignKey(() => SsoConnection, { name: 'sessions_sso_connection_fk', onDelete: 'SET NULL' })
  @Column('uuid', { nullable: true })
  ssoConnectionId!: string | null;
  /** The person's session at that provider, in `sso_sessions`; that row may have been deleted. */
  @Column('uuid', { nullable: true }) ssoSessionId!: string | null;
  /** The providers of earlier sign-ins, before the person signed in to this session in another way; latest first. */
  @Column('uuid', { array: true, nullable: true }) formerSsoConnectionIds!: string[] | null;
  @Column('uuid', { array: true, nullable: true }) formerSsoSessionIds!: string[] | null;
  @Column('text', { nullable: true }) ipAddress!: string | null;
  @Column('text', { nullable: true }) userAgent!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  /** When the provider's session behind it ends (`sso_sessions`): neither it nor its grants outlive that. */
  @Column('timestamptz', { nullable: true }) notOnOrAfter!: Date | null;
  /** The last use, to the minute, if unused sessions end, else the sign-in. Null if an older release wrote it. */
  @Column('timestamptz', { nullable: true }) usedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) revokedAt!: Date | null;
}
