import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { Identity } from './identity.js';

/**
 * `verify_email`: proves the address of a sign-up, and adds the membership where it says so. `reset_password`: sets one.
 * `known_address`: opens nothing; it is what the mail to somebody who signed up once more is about.
 */
export type IdentityLinkPurpose = 'verify_email' | 'reset_password' | 'known_address';

/** A mailed link of an end user. Its token is derived from the id and stored as a hash only (docs/decisions/0004). */
@Entity('identity_links')
@Index('identity_links_token', ['tokenHash'], { unique: true })
@Index('identity_links_identity', ['identityId', 'purpose', 'createdAt'])
@Index('identity_links_account', ['accountId'])
@Index('identity_links_environment', ['environmentId'])
@Index('identity_links_client', ['oauthClientId'])
@Index('identity_links_expiry', ['expiresAt'])
@Check('identity_links_purpose', `purpose in ('verify_email', 'reset_password', 'known_address')`)
export class IdentityLink {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'identity_links_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'identity_links_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  /** Without a foreign key: deleting a client does not wait for all that it has given out (`RemovedClient`). */
  @Column('uuid')
  oauthClientId!: string;
  /** Null for an address that nobody has: asking costs the same for every address. */
  @ForeignKey(() => Identity, { name: 'identity_links_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  identityId!: string | null;
  @Column('text') purpose!: IdentityLinkPurpose;
  @Column('text') locale!: 'en' | 'de';
  @Column('bytea') tokenHash!: Buffer;
  /** The master key that the link is derived from. */
  @Column('text') tokenKeyId!: string;
  /** Of the authorization request that it leads back to; empty where there is none. */
  @Column('jsonb') parameters!: Record<string, string>;
  /** Hash of the cookie of the browser that signed up, where one click confirms (docs/decisions/0011). */
  @Column('bytea', { nullable: true }) browserHash!: Buffer | null;
  /** What the sign-up chose. It becomes the Identity's when this link is confirmed, and not before. */
  @Column('text', { nullable: true }) passwordHash!: string | null;
  @Column('text', { nullable: true }) firstName!: string | null;
  @Column('text', { nullable: true }) lastName!: string | null;
  /** Whether confirming makes the Identity a member of the Environment. */
  @Column('boolean') joins!: boolean;
  /** How often its password was tried. */
  @Column('integer') attempts!: number;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  /** Before `createdAt`: made void, and used by nobody. */
  @Column('timestamptz', { nullable: true }) usedAt!: Date | null;
}
