import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';

/** An OAuth client that was deleted, for as long as something may be left of what it had given out: housekeeping takes that in batches. */
@Entity('removed_clients')
@Index('removed_clients_account', ['accountId'])
@Index('removed_clients_environment', ['environmentId'])
export class RemovedClient {
  /** That of the client. */
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'removed_clients_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'removed_clients_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @Column('timestamptz') removedAt!: Date;
}
