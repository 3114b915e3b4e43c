import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { EnvironmentMembership } from './environment-membership.js';
import { Organization } from './organization.js';

/**
 * What a directory said of a person of an Environment whom it provisions: one directory at the most. It goes with the
 * membership. Address, names and whether they are let in are those of the Identity, and stand there.
 */
@Entity('scim_users')
@ForeignKey(() => EnvironmentMembership, ['environmentId', 'identityId'], ['environmentId', 'identityId'], {
  name: 'scim_users_identity_fk',
  onDelete: 'CASCADE',
})
@Index('scim_users_user_name', ['directoryId', 'userNameKey'], { unique: true })
@Index('scim_users_external_id', ['directoryId', 'externalId'])
@Index('scim_users_account', ['accountId'])
@Index('scim_users_text_trigrams', { synchronize: false })
@Index('scim_users_organization', ['organizationId'])
export class ScimUser {
  @ForeignKey(() => Environment, { name: 'scim_users_environment_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  environmentId!: string;
  @PrimaryColumn('uuid') identityId!: string;
  @ForeignKey(() => Account, { name: 'scim_users_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Organization, { name: 'scim_users_organization_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  organizationId!: string | null;
  /** The organization, or the Environment where there is none: never null, for the indexes. */
  @Column('uuid') directoryId!: string;
  @Column('text') userName!: string;
  /** In lower case: `userName` is unique whatever its case (RFC 7643 §4.1.1). */
  @Column('text') userNameKey!: string;
  @Column('text', { nullable: true }) externalId!: string | null;
  /** What has no place in the Identity, as in a SCIM User. The main one of `emails` has no value: that is the address. */
  @Column('jsonb') attributes!: object;
  /** Whether the membership in the Environment is this directory's making, and so ends with its User. */
  @Column('boolean') madeMembership!: boolean;
  /** Whether it is this directory that keeps them out, and so may let them in again. */
  @Column('boolean') isSuspended!: boolean;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
