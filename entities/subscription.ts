import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';

export type Plan = 'free';

@Entity('subscriptions')
@Index('subscriptions_one_per_account', ['accountId'], { unique: true })
export class Subscription {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'subscriptions_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @Column('text') plan!: Plan;
  @Column('text') status!: 'active';
  @Column('timestamptz') createdAt!: Date;
}
