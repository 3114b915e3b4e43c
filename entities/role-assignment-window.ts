import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { RoleAssignment } from './role-assignment.js';

export type RoleAssignmentWindowStatus = 'running' | 'completed' | 'removed' | 'cancelled';

/**
 * Which events of an assignment's window were recorded. It exists for each assignment that had a future bound when it
 * was made. It decides nothing about access: only the window in the assignment does.
 */
@Entity('role_assignment_windows')
@Index('role_assignment_windows_by_age', ['accountId', 'createdAt', 'id'])
@Index('role_assignment_windows_environment', ['environmentId'])
@Index('role_assignment_windows_running', ['id'], { where: `status = 'running'` })
@Check('role_assignment_windows_status', `status in ('running', 'completed', 'removed', 'cancelled')`)
export class RoleAssignmentWindow {
  /** The assignment's id. */
  @ForeignKey(() => RoleAssignment, { name: 'role_assignment_windows_assignment_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  id!: string;
  @ForeignKey(() => Account, { name: 'role_assignment_windows_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'role_assignment_windows_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @Column('text') status!: RoleAssignmentWindowStatus;
  @Column('text', { nullable: true }) endedReason!: string | null;
  /** All bounds up to this moment have had their events. */
  @Column('timestamptz') toldUntil!: Date;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
}
