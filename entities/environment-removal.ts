import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';

export type EnvironmentRemovalStatus = 'running' | 'completed' | 'cancelled';

/** What a cancelled removal has left, in numbers. */
export interface EnvironmentRemovalRest {
  identities: number;
  nodes: number;
}

/** The deletion of what was in an Environment that nobody reaches any more. It outlives it, as the proof that it was done. */
@Entity('environment_removals')
@Index('environment_removals_one_per_environment', ['environmentId'], { unique: true })
@Index('environment_removals_by_age', ['accountId', 'createdAt', 'id'])
@Index('environment_removals_application', ['applicationId'])
@Index('environment_removals_running', ['id'], { where: `status = 'running'` })
@Check('environment_removals_status', `status in ('running', 'completed', 'cancelled')`)
export class EnvironmentRemoval {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'environment_removals_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  /** Where it was. No foreign keys: both are about to go. */
  @Column('uuid') applicationId!: string;
  @Column('uuid') environmentId!: string;
  @Column('text') name!: string;
  @Column('text') status!: EnvironmentRemovalStatus;
  @Column('text', { nullable: true }) endedReason!: string | null;
  /** Of a cancelled one; null where nothing is left. */
  @Column('jsonb', { nullable: true }) rest!: EnvironmentRemovalRest | null;
  /** Those who were in no other Environment, and went with it so far. */
  @Column('integer') identitiesDeleted!: number;
  /** Whose wish it is, for the events that it writes. */
  @Column('text') actorType!: string;
  @Column('text', { nullable: true }) actorId!: string | null;
  @Column('uuid') correlationId!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
}
