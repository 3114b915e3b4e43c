import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';

export type CounterName = 'identities' | 'nodes' | 'organizations';

/** The number of rows in a list, updated in the transaction of each change, so that no query counts them. */
@Entity('counters')
export class Counter {
  @ForeignKey(() => Environment, { name: 'counters_environment_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  environmentId!: string;
  @PrimaryColumn('text') name!: CounterName;
  @ForeignKey(() => Account, { name: 'counters_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @Column('bigint') value!: string;
}
