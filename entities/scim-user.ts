import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Environment } from './environment.js';
import { EnvironmentMembership } from './environment-membership.js';
import { Organization } from './organization.js';

/**
 * What a directory says about a person whom it provisions in an Environment; at most one directory does. It is deleted
 * with the membership. Address, names and the active state are not here, but with the Identity.
 */
@Entity('scim_users')
@ForeignKey(() => EnvironmentMembership, ['environmentId', 'identityId'], ['environmentId', 'identityId'], {
  name: 'scim_users_identity_fk',
  onDelete: 'CASCADE',
})
@Index('scim_users_user_name', ['directoryId', 'userNameKey'], { unique: true })
@Index('scim_users_external_id', ['directoryId', 'externalId'])
@Index('scim_users_text_trigrams', { synchronize: false })
@Index('scim_users_organization', ['organizationId'])
export class ScimUser {
  @ForeignKey(() => Environment, { name: 'scim_users_environment_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  environmentId!: string;
  @PrimaryColumn('uuid') identityId!: string;
  @Column('uuid') accountId!: string;
  @ForeignKey(() => Organization, { name: 'scim_users_organization_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  organizationId!: string | null;
  /** The organization, or the Environment if there is none: never null, for the indexes. */
  @Column('uuid') directoryId!: string;
  @Column('text') userName!: string;
  /** In lower case: `userName` is unique whatever its case (RFC 7643 §4.1.1). */
  @Column('text') userNameKey!: string;
  @Column('text', { nullable: true }) externalId!: string | null;
  /** SCIM attributes without a field in the Identity. The primary one of `emails` has no value: that is the address. */
  @Column('jsonb') attributes!: object;
  /** Whether this directory created the membership in the Environment, which then ends with its SCIM User. */
  @Column('boolean') madeMembership!: boolean;
  /** Whether this directory deactivated the person, and so may activate them again. */
  @Column('boolean') isSuspended!: boolean;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
