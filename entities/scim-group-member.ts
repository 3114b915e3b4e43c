import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Environment } from './environment.js';
import { EnvironmentMembership } from './environment-membership.js';
import { ScimGroup } from './scim-group.js';

/** A member of a group. It is also deleted with the membership in the Environment. */
@Entity('scim_group_members')
@ForeignKey(() => EnvironmentMembership, ['environmentId', 'identityId'], ['environmentId', 'identityId'], {
  name: 'scim_group_members_identity_fk',
  onDelete: 'CASCADE',
})
@Index('scim_group_members_identity', ['environmentId', 'identityId'])
export class ScimGroupMember {
  @ForeignKey(() => ScimGroup, { name: 'scim_group_members_group_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  groupId!: string;
  @PrimaryColumn('uuid') identityId!: string;
  @Column('uuid') accountId!: string;
  @ForeignKey(() => Environment, { name: 'scim_group_members_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
}
