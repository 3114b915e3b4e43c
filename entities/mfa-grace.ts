import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { Identity } from './identity.js';

export type MfaGraceStatus = 'running' | 'enrolled' | 'expired' | 'reset' | 'cancelled';

/** The time that an Identity has to enroll a first factor in an Environment that requires MFA. One row per pair. */
@Entity('mfa_graces')
@Index('mfa_graces_one_per_identity', ['environmentId', 'identityId'], { unique: true })
@Index('mfa_graces_identity', ['identityId'])
@Index('mfa_graces_by_creation', ['accountId', 'createdAt', 'id'])
@Index('mfa_graces_running', ['id'], { where: `status = 'running'` })
@Check('mfa_graces_status', `status in ('running', 'enrolled', 'expired', 'reset', 'cancelled')`)
export class MfaGrace {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'mfa_graces_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'mfa_graces_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @ForeignKey(() => Identity, { name: 'mfa_graces_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  identityId!: string;
  /**
   * While `running` or `cancelled`, only the deadline decides, whatever the worker has noticed. `reset` means that the
   * next sign-in starts a new grace period.
   */
  @Column('text') status!: MfaGraceStatus;
  @Column('text', { nullable: true }) endedReason!: string | null;
  /** How often the grace period has begun; each time has its own reminders. */
  @Column('integer') round!: number;
  /** When the latest grace period began. */
  @Column('timestamptz') startedAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
  /** When the first one began, which orders lists. */
  @Column('timestamptz', { default: () => 'now()' }) createdAt!: Date;
}
