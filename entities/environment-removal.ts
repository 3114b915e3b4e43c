import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';

export type EnvironmentRemovalStatus = 'running' | 'completed' | 'cancelled';

/** How many rows a cancelled removal has left. */
export interface EnvironmentRemovalRest {
  identities: number;
  nodes: number;
}

/** The deletion of the contents of an Environment that nobody can reach any more. It stays, as the proof of that. */
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
  /** The place of the Environment. No foreign keys: both rows are about to be deleted. */
  @Column('uuid') applicationId!: string;
  @Column('uuid') environmentId!: string;
  @Column('text') name!: string;
  @Column('text') status!: EnvironmentRemovalStatus;
  @Column('text', { nullable: true }) endedReason!: string | null;
  /** What a cancelled one has left; null if nothing. */
  @Column('jsonb', { nullable: true }) rest!: EnvironmentRemovalRest | null;
  /** How many Identities that were in no other Environment have been deleted with it so far. */
  @Column('integer') identitiesDeleted!: number;
  /** Who requested it, for the events that it records. */
  @Column('text') actorType!: string;
  @Column('text', { nullable: true }) actorId!: string | null;
  @Column('uuid') correlationId!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
}
