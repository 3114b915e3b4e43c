import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { User } from './user.js';

export type EmailChangeStatus = 'pending' | 'confirmed' | 'expired' | 'withdrawn' | 'cancelled';

/** A platform admin's new address, which waits for its confirmation. When it ends, the new address is removed. */
@Entity('email_changes')
@Index('email_changes_token', ['tokenHash'], { unique: true })
@Index('email_changes_one_pending', ['userId'], { unique: true, where: `status = 'pending'` })
@Index('email_changes_user', ['userId'])
@Index('email_changes_open', ['id'], { where: `status = 'pending'` })
@Index('email_changes_ended', ['endedAt'], { where: 'ended_at is not null' })
@Check('email_changes_status', `status in ('pending', 'confirmed', 'expired', 'withdrawn', 'cancelled')`)
export class EmailChange {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => User, { name: 'email_changes_user_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  userId!: string;
  /** The session that requested it: the change is void once that session has ended. */
  @Column('uuid') sessionId!: string;
  /** The new address. */
  @Column('citext', { nullable: true }) email!: string | null;
  /** The old address of a confirmed change, for the mail to it. */
  @Column('citext', { nullable: true }) formerEmail!: string | null;
  /** The language of the mails about it. */
  @Column('text') locale!: 'en' | 'de';
  @Column('bytea') tokenHash!: Buffer;
  /** The id of the master key from which the link is derived. */
  @Column('text') tokenKeyId!: string;
  /** Hash of the cookie of the browser that requested it: there, one click confirms (docs/decisions/0107). */
  @Column('bytea') browserHash!: Buffer;
  /** How often somebody tried the user's password. */
  @Column('integer', { default: 0 }) attempts!: number;
  /** Every read also checks `expires_at`, `attempts` and the session, so a stopped worker lets nothing in. */
  @Column('text') status!: EmailChangeStatus;
  @Column('text', { nullable: true }) endedReason!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
}
