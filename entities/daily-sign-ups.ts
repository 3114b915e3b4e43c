import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';

/** How many people signed up in an Environment on a UTC day; `daily_self_signup_cap` limits it. */
@Entity('daily_sign_ups')
@Index('daily_sign_ups_account', ['accountId'])
@Index('daily_sign_ups_day', ['day'])
export class DailySignUps {
  @ForeignKey(() => Environment, { name: 'daily_sign_ups_environment_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  environmentId!: string;
  @PrimaryColumn('date') day!: string;
  @ForeignKey(() => Account, { name: 'daily_sign_ups_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @Column('integer') count!: number;
}
