import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import type { InviteStatus } from './administrator-invite.js';
import { Environment } from './environment.js';
import { Identity } from './identity.js';
import { Organization } from './organization.js';

/** What it invites to: the Environment, only the Account's directory, or an organization of the Environment. */
export const identityInviteIntents = ['activate', 'directory', 'organization'] as const;
export type IdentityInviteIntent = (typeof identityInviteIntents)[number];

/** An invite to become an end user. The link is not stored: it is derived when a mail is sent. */
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
  /**
   * Where it was made, even for the directory only: this Environment's callers see it, and its password rules apply.
   */
  @ForeignKey(() => Environment, { name: 'identity_invites_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @Column('text') intent!: IdentityInviteIntent;
  @Column('citext') email!: string;
  @Column('text', { nullable: true }) firstName!: string | null;
  @Column('text', { nullable: true }) lastName!: string | null;
  /** No foreign key: acceptance reports the roles that were deleted by then, and gives the others. */
  @Column('uuid', { array: true }) roleIds!: string[];
  /** The node at which the roles are given; null without roles. */
  @Column('uuid', { nullable: true }) nodeId!: string | null;
  /** Null if the organization was deleted, which revokes the invite. */
  @ForeignKey(() => Organization, { name: 'identity_invites_organization_fk', onDelete: 'SET NULL' })
  @Column('uuid', { nullable: true })
  organizationId!: string | null;
  /** The language of its mails. */
  @Column('text') locale!: 'en' | 'de';
  @Column('bytea') tokenHash!: Buffer;
  /** The id of the master key from which the link is derived. */
  @Column('text') tokenKeyId!: string;
  /** The number of the valid link: 1 for the first, and one more for each link sent since. */
  @Column('integer') linkNumber!: number;
  /** `expired` is also computed from `expires_at` at every read, so a stopped worker lets nobody in. */
  @Column('text') status!: InviteStatus;
  @Column('text', { nullable: true }) endedReason!: string | null;
  /** Who invites: a User, an Identity or an API key; only an id, since any of them may be deleted. */
  @Column('text') invitedByType!: 'platform_admin' | 'identity' | 'api_key';
  @Column('uuid') invitedBy!: string;
  /** The Identity that accepted. The invite is deleted when that person is erased. */
  @ForeignKey(() => Identity, { name: 'identity_invites_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  identityId!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
}
