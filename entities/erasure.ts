import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';

export type ErasureStatus = 'running' | 'completed' | 'cancelled';

/** What a cancelled erasure has left; only ids and numbers. */
export interface ErasureRest {
  sessions: number;
  /** The Environments in which the person still has a (deactivated) membership. */
  environment_ids: string[];
  /** Whether the profile itself still exists. */
  identity: boolean;
}

/** The deletion of an Identity with everything about it. It stays afterwards, as the proof of the deletion. */
@Entity('erasures')
@Index('erasures_one_per_identity', ['identityId'], { unique: true })
@Index('erasures_by_age', ['accountId', 'createdAt', 'id'])
@Index('erasures_running', ['id'], { where: `status = 'running'` })
@Check('erasures_status', `status in ('running', 'completed', 'cancelled')`)
export class Erasure {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'erasures_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  /** No foreign key: the Identity is about to be deleted. */
  @Column('uuid') identityId!: string;
  @Column('text') status!: ErasureStatus;
  @Column('text', { nullable: true }) endedReason!: string | null;
  /** What a cancelled one has left; null if nothing. */
  @Column('jsonb', { nullable: true }) rest!: ErasureRest | null;
  /** Who requested it, for the events that it records. */
  @Column('text') actorType!: string;
  @Column('text', { nullable: true }) actorId!: string | null;
  @Column('uuid') correlationId!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
}
