import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { User } from './user.js';

export type AccountIntentStatus = 'parked' | 'claimed' | 'consumed' | 'discarded' | 'expired' | 'cancelled' | 'failed';

/**
 * An existing user's request for another Account. If it was made without being signed in, it is parked until the user
 * has signed in and confirmed it; if the user was signed in, it is consumed in the transaction that writes it.
 */
@Entity('account_intents')
@Index('account_intents_user', ['userId'])
@Index('account_intents_open', ['id'], { where: `status in ('parked', 'claimed')` })
@Index('account_intents_ended', ['endedAt'], { where: 'ended_at is not null' })
@Check(
  'account_intents_status',
  `status in ('parked', 'claimed', 'consumed', 'discarded', 'expired', 'cancelled', 'failed')`,
)
export class AccountIntent {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => User, { name: 'account_intents_user_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  userId!: string;
  @Column('text') accountName!: string;
  @Column('text') applicationName!: string;
  /** Null unless a slug was requested. */
  @Column('text', { nullable: true }) accountSlug!: string | null;
  /** The language of the mails about it. */
  @Column('text') locale!: 'en' | 'de';
  /** `expired` is also computed from `expires_at` at every read, so a stopped worker lets nothing in. */
  @Column('text') status!: AccountIntentStatus;
  @Column('text', { nullable: true }) endedReason!: string | null;
  /** Identifies the request that claimed it: a retry with the same Idempotency-Key is the same request. */
  @Column('uuid', { nullable: true }) claimId!: string | null;
  @Column('timestamptz', { nullable: true }) claimedAt!: Date | null;
  /** The Account that was created from it. */
  @Column('uuid', { nullable: true }) accountId!: string | null;
  @Column('uuid') correlationId!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
}
