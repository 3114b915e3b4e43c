import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Environment } from './environment.js';
import { Identity } from './identity.js';

/**
 * `verify_email`: proves the address of a sign-up, and adds the membership if `joins` is set. `reset_password`: sets a
 * password. `known_address`: opens nothing; it is the subject of the mail to somebody who signed up again.
 */
export type IdentityLinkPurpose = 'verify_email' | 'reset_password' | 'known_address';

/**
 * A mailed link of an end user. Its token is derived from the id, and only its hash is stored (docs/decisions/0004).
 */
@Entity('identity_links')
@Index('identity_links_token', ['tokenHash'], { unique: true })
@Index('identity_links_identity', ['identityId', 'purpose', 'createdAt'])
@Index('identity_links_environment', ['environmentId'])
@Index('identity_links_client', ['oauthClientId'])
@Index('identity_links_expiry', ['expiresAt'])
@Check('identity_links_purpose', `purpose in ('verify_email', 'reset_password', 'known_address')`)
export class IdentityLink {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') accountId!: string;
  @ForeignKey(() => Environment, { name: 'identity_links_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  /** No foreign key: deleting a client does not wait for the deletion of all that it has issued (`RemovedClient`). */
  @Column('uuid')
  oauthClientId!: string;
  /** Null for an unknown address: a request costs the same for every address. */
  @ForeignKey(() => Identity, { name: 'identity_links_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  identityId!: string | null;
  @Column('text') purpose!: IdentityLinkPurpose;
  @Column('text') locale!: 'en' | 'de';
  @Column('bytea') tokenHash!: Buffer;
  /** The id of the master key from which the link is derived. */
  @Column('text') tokenKeyId!: string;
  /** The parameters of the authorization request to which it leads back; empty if there is none. */
  @Column('jsonb') parameters!: Record<string, string>;
  /** Hash of the cookie of the browser that signed up: there, one click confirms (docs/decisions/0011). */
  @Column('bytea', { nullable: true }) browserHash!: Buffer | null;
  /** What the person chose at the sign-up. The Identity gets it only when this link is confirmed. */
  @Column('text', { nullable: true }) passwordHash!: string | null;
  @Column('text', { nullable: true }) firstName!: string | null;
  @Column('text', { nullable: true }) lastName!: string | null;
  /** Whether confirming makes the Identity a member of the Environment. */
  @Column('boolean') joins!: boolean;
  /** How often somebody tried its password. */
  @Column('integer') attempts!: number;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  /** A time before `createdAt` means that it was made void and nobody used it. */
  @Column('timestamptz', { nullable: true }) usedAt!: Date | null;
}
