import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { Organization } from './organization.js';

/** A group of a customer's directory. Its mappings say what its members may do. */
@Entity('scim_groups')
@Index('scim_groups_by_age', ['directoryId', 'createdAt', 'id'])
@Index('scim_groups_display_name', ['directoryId', 'displayNameKey'])
@Index('scim_groups_external_id', ['directoryId', 'externalId'])
@Index('scim_groups_account', ['accountId'])
@Index('scim_groups_environment', ['environmentId'])
@Index('scim_groups_organization', ['organizationId'])
export class ScimGroup {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'scim_groups_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'scim_groups_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @ForeignKey(() => Organization, { name: 'scim_groups_organization_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  organizationId!: string | null;
  /** The organization, or the Environment if there is none: never null, for the indexes. */
  @Column('uuid') directoryId!: string;
  @Column('text') displayName!: string;
  @Column('text') displayNameKey!: string;
  @Column('text', { nullable: true }) externalId!: string | null;
  @Column('integer') version!: number;
  /** An upper bound of the number of members: the end of a membership in the Environment does not lower it. */
  @Column('integer', { default: 0 }) membersAtMost!: number;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
