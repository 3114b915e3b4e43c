import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Environment } from './environment.js';
import { RoleAssignment } from './role-assignment.js';

/** An assignment that exists because of a directory's group: only such a one is removed when that reason ends. */
@Entity('scim_assignments')
@Index('scim_assignments_directory', ['directoryId'])
@Index('scim_assignments_environment', ['environmentId'])
export class ScimAssignment {
  @ForeignKey(() => RoleAssignment, { name: 'scim_assignments_assignment_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  assignmentId!: string;
  @Column('uuid') accountId!: string;
  @ForeignKey(() => Environment, { name: 'scim_assignments_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @Column('uuid') directoryId!: string;
}
