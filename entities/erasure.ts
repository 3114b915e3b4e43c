import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';

export type ErasureStatus = 'running' | 'completed' | 'cancelled';

/** What a cancelled erasure has left; ids and numbers only. */
export interface ErasureRest {
  sessions: number;
  /** Where the person still has a (deactivated) membership. */
  environment_ids: string[];
  /** Whether the profile itself is still there. */
  identity: boolean;
}

/** The deletion of an Identity with everything about it. It outlives the Identity, as the proof that it was done. */
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
  /** No foreign key: it is about to go. */
  @Column('uuid') identityId!: string;
  @Column('text') status!: ErasureStatus;
  @Column('text', { nullable: true }) endedReason!: string | null;
  /** Of a cancelled one; null where nothing is left. */
  @Column('jsonb', { nullable: true }) rest!: ErasureRest | null;
  /** Whose wish it is, for the events that it writes. */
  @Column('text') actorType!: string;
  @Column('text', { nullable: true }) actorId!: string | null;
  @Column('uuid') correlationId!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
}
