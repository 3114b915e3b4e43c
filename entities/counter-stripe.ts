import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import type { CounterName } from './counter.js';
import { Environment } from './environment.js';

/** A part of a counter, so that transactions that count at the same time need not wait for each other's commit. */
@Entity('counter_stripes')
export class CounterStripe {
  @ForeignKey(() => Environment, { name: 'counter_stripes_environment_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  environmentId!: string;
  @PrimaryColumn('text') name!: CounterName;
  @PrimaryColumn('smallint') stripe!: number;
  @ForeignKey(() => Account, { name: 'counter_stripes_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @Column('bigint') value!: string;
}
