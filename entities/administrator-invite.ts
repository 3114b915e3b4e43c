import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { AdministratorRole } from './administrator-role.js';
import type { RoleLimits } from './membership-role.js';
import { User } from './user.js';

export type InviteStatus = 'pending' | 'accepted' | 'expired' | 'revoked';

/** An invite to administrate an Account. The link is not stored: it is derived when a mail is sent. */
@Entity('administrator_invites')
@Index('administrator_invites_token', ['tokenHash'], { unique: true })
@Index('administrator_invites_one_pending_per_address', ['accountId', 'email'], {
  unique: true,
  where: `status = 'pending'`,
})
@Index('administrator_invites_by_age', ['accountId', 'createdAt', 'id'])
@Index('administrator_invites_role', ['roleId'])
@Index('administrator_invites_open', ['id'], { where: `status = 'pending'` })
@Index('administrator_invites_ended', ['endedAt'], { where: 'ended_at is not null' })
@Check('administrator_invites_status', `status in ('pending', 'accepted', 'expired', 'revoked')`)
export class AdministratorInvite {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'administrator_invites_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @Column('citext') email!: string;
  @Column('text') firstName!: string;
  @Column('text') lastName!: string;
  /** Null if the role was deleted, which is only possible after the invite has ended. */
  @ForeignKey(() => AdministratorRole, { name: 'administrator_invites_role_fk', onDelete: 'SET NULL' })
  @Column('uuid', { nullable: true })
  roleId!: string | null;
  @Column('jsonb', { nullable: true }) limits!: RoleLimits | null;
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
  @ForeignKey(() => User, { name: 'administrator_invites_invited_by_fk', onDelete: 'SET NULL' })
  @Column('uuid', { nullable: true })
  invitedBy!: string | null;
  @Column('uuid', { nullable: true }) membershipId!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
}
