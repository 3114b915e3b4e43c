import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { SsoConnection } from './sso-connection.js';
import { SsoLink } from './sso-link.js';

/**
 * The session of a person at their identity provider by which sessions here began: what it takes to end it, and to know it again.
 * Sessions name it without a foreign key, since it goes before them.
 */
@Entity('sso_sessions')
@Index('sso_sessions_link', ['linkId'])
@Index('sso_sessions_connection', ['connectionId', 'indexHash'])
@Index('sso_sessions_account', ['accountId'])
@Index('sso_sessions_expiry', ['expiresAt'])
export class SsoSession {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'sso_sessions_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => SsoConnection, { name: 'sso_sessions_connection_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  connectionId!: string;
  /** Whose it is. Another provider behind the connection ends the links, and with them what its predecessor had begun. */
  @ForeignKey(() => SsoLink, { name: 'sso_sessions_link_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  linkId!: string;
  /** Hash of SAML's `SessionIndex`, or OpenID Connect's `sid`, where the provider names its sessions. */
  @Column('bytea', { nullable: true }) indexHash!: Buffer | null;
  /** What the provider is told to end it, sealed: the NameID with its SessionIndex, or the ID token. */
  @Column('text') sealedHandle!: string;
  @Column('timestamptz') createdAt!: Date;
  /** Since when it is over, as the provider has said itself: nothing begins by it any more. */
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
  /** Until when the provider has it last, where it says so; null: it does not. */
  @Column('timestamptz', { nullable: true }) notOnOrAfter!: Date | null;
  @Column('timestamptz') expiresAt!: Date;
}
