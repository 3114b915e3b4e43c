import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Application } from './application.js';
import { Environment } from './environment.js';
import { Node } from './node.js';
import { Organization } from './organization.js';
import { Role } from './role.js';
import { ScimGroup } from './scim-group.js';

/** Gives the members of a directory's group a role at a node. It names the group by its id or by its name. */
@Entity('scim_group_mappings')
@Index('scim_group_mappings_by_age', ['accountId', 'createdAt', 'id'])
@Index('scim_group_mappings_directory', ['directoryId'])
@Index('scim_group_mappings_group', ['groupId', 'roleId', 'nodeId'], { unique: true })
@Index('scim_group_mappings_name', ['directoryId', 'groupNameKey', 'roleId', 'nodeId'], { unique: true })
@Index('scim_group_mappings_application', ['applicationId'])
@Index('scim_group_mappings_environment', ['environmentId'])
@Index('scim_group_mappings_organization', ['organizationId'])
@Index('scim_group_mappings_role', ['roleId'])
@Index('scim_group_mappings_node', ['nodeId'])
@Check('scim_group_mappings_whom', '(group_id is null) <> (group_name is null)')
export class ScimGroupMapping {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'scim_group_mappings_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Application, { name: 'scim_group_mappings_application_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  applicationId!: string;
  @ForeignKey(() => Environment, { name: 'scim_group_mappings_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @ForeignKey(() => Organization, { name: 'scim_group_mappings_organization_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  organizationId!: string | null;
  @Column('uuid') directoryId!: string;
  @ForeignKey(() => ScimGroup, { name: 'scim_group_mappings_group_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  groupId!: string | null;
  @Column('text', { nullable: true }) groupName!: string | null;
  @Column('text', { nullable: true }) groupNameKey!: string | null;
  @ForeignKey(() => Role, { name: 'scim_group_mappings_role_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  roleId!: string;
  @ForeignKey(() => Node, { name: 'scim_group_mappings_node_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  nodeId!: string;
  @Column('timestamptz') createdAt!: Date;
}
