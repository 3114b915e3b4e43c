import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { User } from './user.js';

export type AccountIntentStatus = 'parked' | 'claimed' | 'consumed' | 'discarded' | 'expired' | 'cancelled' | 'failed';

/** An existing user's wish for another Account, parked until the user has signed in and said so again. */
@Entity('account_intents')
@Index('account_intents_user', ['userId'])
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
  @Column('text') status!: AccountIntentStatus;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
}
