import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Environment } from './environment.js';
import { Identity } from './identity.js';
import { Organization } from './organization.js';

@Entity('organization_members')
@Index('organization_members_by_age', ['organizationId', 'createdAt', 'identityId'])
@Index('organization_members_identity', ['identityId'])
@Index('organization_members_environment', ['environmentId'])
export class OrganizationMember {
  @ForeignKey(() => Organization, { name: 'organization_members_organization_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  organizationId!: string;
  @ForeignKey(() => Identity, { name: 'organization_members_identity_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  identityId!: string;
  @Column('uuid') accountId!: string;
  @ForeignKey(() => Environment, { name: 'organization_members_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @Column('timestamptz') createdAt!: Date;
}
