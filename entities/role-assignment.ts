import { Check, Column, Entity, Exclusion, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Environment } from './environment.js';
import { Identity } from './identity.js';
import { Node } from './node.js';
import { Role } from './role.js';

/** A role that an Identity holds at a node and below it, within a time window. */
@Entity('role_assignments')
@Index('role_assignments_in_force', { synchronize: false })
@Index('role_assignments_over', { synchronize: false })
@Index('role_assignments_node', ['nodeId'])
@Index('role_assignments_held_at_node', { synchronize: false })
@Index('role_assignments_held_of_role', { synchronize: false })
@Index('role_assignments_role', ['roleId'])
@Index('role_assignments_environment', ['environmentId', 'createdAt', 'id'])
@Check('role_assignments_window', 'effective_from < effective_to')
@Exclusion(
  'role_assignments_overlapping',
  'using gist (identity_id with =, role_id with =, node_id with =, tstzrange(effective_from, effective_to) with &&) where (removed_at is null)',
)
export class RoleAssignment {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') accountId!: string;
  @ForeignKey(() => Environment, { name: 'role_assignments_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @ForeignKey(() => Identity, { name: 'role_assignments_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  identityId!: string;
  @ForeignKey(() => Role, { name: 'role_assignments_role_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  roleId!: string;
  @ForeignKey(() => Node, { name: 'role_assignments_node_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  nodeId!: string;
  /** In force from `effectiveFrom` (inclusive) to `effectiveTo` (exclusive); null: unbounded. */
  @Column('timestamptz', { nullable: true }) effectiveFrom!: Date | null;
  @Column('timestamptz', { nullable: true }) effectiveTo!: Date | null;
  /** Whether the holder gets a mail when it begins, is about to end, and has ended. */
  @Column('boolean', { default: false }) notifyHolder!: boolean;
  @Column('timestamptz') createdAt!: Date;
  /** A removed row is kept for as long as events are, so that past decisions can be explained. */
  @Column('timestamptz', { nullable: true }) removedAt!: Date | null;
}
