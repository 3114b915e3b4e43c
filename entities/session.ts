import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { Identity } from './identity.js';
import { SsoConnection } from './sso-connection.js';

/** An Identity signed in to an Environment with one browser; its id is the `sid` of the tokens. */
@Entity('sessions')
@Index('sessions_browser', ['browserHash', 'environmentId'], { unique: true, where: 'revoked_at is null' })
@Index('sessions_identity', ['identityId', 'environmentId'])
@Index('sessions_expiry', ['expiresAt', 'id'])
@Index('sessions_sso_connection', ['ssoConnectionId'], { where: 'sso_connection_id is not null' })
@Index('sessions_former_sso_connections', ['environmentId'], { where: 'former_sso_connection_ids is not null' })
export class Session {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'sessions_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'sessions_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @ForeignKey(() => Identity, { name: 'sessions_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  identityId!: string;
  /** Hash of the `hosted_session` cookie. One cookie serves the sessions of a browser in several Environments. */
  @Column('bytea') browserHash!: Buffer;
  /** When its person came in by a first factor: its life is counted from there. */
  @Column('timestamptz') authenticatedAt!: Date;
  /** When it was proved to an identity provider, as `auth_time` says; 1970 of one that does not tell, null: `authenticatedAt`. */
  @Column('timestamptz', { nullable: true }) authTime!: Date | null;
  @Column('text', { array: true }) amr!: string[];
  @Column('text') acr!: string;
  /** When a second factor was last proved in it, or a trusted device stood in for one. */
  @Column('timestamptz', { nullable: true }) secondFactorAt!: Date | null;
  /** When a factor of the person's own was last shown in it; what an identity provider says is none. Null of a release without this. */
  @Column('timestamptz', { nullable: true }) ownFactorAt!: Date | null;
  /** The identity provider by which it began, or goes on since the last sign-in, if by one. */
  @ForeignKey(() => SsoConnection, { name: 'sessions_sso_connection_fk', onDelete: 'SET NULL' })
  @Column('uuid', { nullable: true })
  ssoConnectionId!: string | null;
  /** In `sso_sessions`, where it may have gone: their session at that provider. */
  @Column('uuid', { nullable: true }) ssoSessionId!: string | null;
  /** By which it had begun, or gone on, before its person signed in to it in another way: the latest first. */
  @Column('uuid', { array: true, nullable: true }) formerSsoConnectionIds!: string[] | null;
  @Column('uuid', { array: true, nullable: true }) formerSsoSessionIds!: string[] | null;
  @Column('text', { nullable: true }) ipAddress!: string | null;
  @Column('text', { nullable: true }) userAgent!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  /** As that of the session at the provider by which it goes on (`sso_sessions`): neither it nor its grants outlive it. */
  @Column('timestamptz', { nullable: true }) notOnOrAfter!: Date | null;
  /** Its sign-in, and later uses to a minute where its Environment ends unused sessions; null of a release without those. */
  @Column('timestamptz', { nullable: true }) usedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) revokedAt!: Date | null;
}
