import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { SsoConnection } from './sso-connection.js';
import { SsoLink } from './sso-link.js';

/**
 * A person's session at their identity provider with which sessions here began: what is needed to end it, and to
 * recognize it. Sessions name it without a foreign key, since it may be deleted before them.
 */
@Entity('sso_sessions')
@Index('sso_sessions_link', ['linkId'])
@Index('sso_sessions_connection', ['connectionId', 'indexHash'])
@Index('sso_sessions_expiry', ['expiresAt'])
export class SsoSession {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') accountId!: string;
  @ForeignKey(() => SsoConnection, { name: 'sso_sessions_connection_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  connectionId!: string;
  /**
   * The person's link. If the connection gets another provider, the old one's links end, and with them its sessions.
   */
  @ForeignKey(() => SsoLink, { name: 'sso_sessions_link_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  linkId!: string;
  /** Hash of SAML's `SessionIndex`, or OpenID Connect's `sid`, if the provider sends one. */
  @Column('bytea', { nullable: true }) indexHash!: Buffer | null;
  /** What is sent to the provider to end it, sealed: the NameID with its SessionIndex, or the ID token. */
  @Column('text') sealedHandle!: string;
  @Column('timestamptz') createdAt!: Date;
  /** When the provider itself reported its end: from then on no session can begin with it. */
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
  /** When it ends according to the provider; null if the provider does not say. */
  @Column('timestamptz', { nullable: true }) notOnOrAfter!: Date | null;
  @Column('timestamptz') expiresAt!: Date;
}
