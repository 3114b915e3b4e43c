import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import type { InviteStatus } from './administrator-invite.js';
import { Environment } from './environment.js';
import { Identity } from './identity.js';
import { Organization } from './organization.js';

/** Whereto: into the Environment, into the Account's directory only, or into an organization of the Environment. */
export const identityInviteIntents = ['activate', 'directory', 'organization'] as const;
export type IdentityInviteIntent = (typeof identityInviteIntents)[number];

/** Somebody is asked to become an end user. The link is stored nowhere: it is derived when a mail goes out. */
@Entity('identity_invites')
@Index('identity_invites_token', ['tokenHash'], { unique: true })
@Index('identity_invites_one_pending_per_address', ['environmentId', 'email'], {
  unique: true,
  where: `status = 'pending' and intent <> 'organization'`,
})
@Index('identity_invites_one_pending_per_organization', ['organizationId', 'email'], {
  unique: true,
  where: `status = 'pending'`,
})
@Index('identity_invites_overdue', ['organizationId', 'expiresAt'], { where: `status = 'pending'` })
@Index('identity_invites_by_age', ['environmentId', 'createdAt', 'id'])
@Index('identity_invites_account', ['accountId', 'createdAt', 'id'])
@Index('identity_invites_organization', ['organizationId', 'createdAt', 'id'])
@Index('identity_invites_identity', ['identityId'])
@Index('identity_invites_open', ['id'], { where: `status = 'pending'` })
@Index('identity_invites_ended_of_address', ['accountId', 'email'], { where: `status <> 'pending'` })
@Index('identity_invites_waiting_for_address', ['accountId', 'email'], { where: `status = 'pending'` })
@Index('identity_invites_ended', ['endedAt'], { where: 'ended_at is not null' })
@Check('identity_invites_status', `status in ('pending', 'accepted', 'expired', 'revoked')`)
@Check('identity_invites_intent', `intent in ('activate', 'directory', 'organization')`)
export class IdentityInvite {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'identity_invites_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  /** In which it was made, also where it leads into the directory only: its callers see it, and its rules for passwords hold. */
  @ForeignKey(() => Environment, { name: 'identity_invites_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @Column('text') intent!: IdentityInviteIntent;
  @Column('citext') email!: string;
  @Column('text', { nullable: true }) firstName!: string | null;
  @Column('text', { nullable: true }) lastName!: string | null;
  /** Without a foreign key: whoever accepts is told of what is gone by then, and gets the rest. */
  @Column('uuid', { array: true }) roleIds!: string[];
  /** Where the roles are to count; null without roles. */
  @Column('uuid', { nullable: true }) nodeId!: string | null;
  /** Null once the organization was deleted, which revokes. */
  @ForeignKey(() => Organization, { name: 'identity_invites_organization_fk', onDelete: 'SET NULL' })
  @Column('uuid', { nullable: true })
  organizationId!: string | null;
  /** The language of its mails. */
  @Column('text') locale!: 'en' | 'de';
  @Column('bytea') tokenHash!: Buffer;
  /** The master key that the link is derived from. */
  @Column('text') tokenKeyId!: string;
  /** Which link counts: 1 for the first, and one more with each that was sent since. */
  @Column('integer') linkNumber!: number;
  /** `expired` is also computed from `expires_at` at every read: a stopped worker lets nobody in. */
  @Column('text') status!: InviteStatus;
  @Column('text', { nullable: true }) endedReason!: string | null;
  /** Who asks: a User, an Identity or an API key; ids only, since any of them may go. */
  @Column('text') invitedByType!: 'platform_admin' | 'identity' | 'api_key';
  @Column('uuid') invitedBy!: string;
  /** Who accepted. What was asked of them goes when they are erased. */
  @ForeignKey(() => Identity, { name: 'identity_invites_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  identityId!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
}
