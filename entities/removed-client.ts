import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';

/** A deleted OAuth client, kept while anything that it issued may be left: housekeeping deletes that in batches. */
@Entity('removed_clients')
@Index('removed_clients_account', ['accountId'])
@Index('removed_clients_environment', ['environmentId'])
export class RemovedClient {
  /** The client's id. */
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'removed_clients_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'removed_clients_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @Column('timestamptz') removedAt!: Date;
}
