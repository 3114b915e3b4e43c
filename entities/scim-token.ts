import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Application } from './application.js';
import { Environment } from './environment.js';
import { Organization } from './organization.js';

/**
 * The token with which a directory provisions people and groups by SCIM, in an Environment or one organization of it.
 */
@Entity('scim_tokens')
@Index('scim_tokens_hash', ['tokenHash'], { unique: true })
@Index('scim_tokens_by_age', ['accountId', 'createdAt', 'id'])
@Index('scim_tokens_application', ['applicationId'])
@Index('scim_tokens_environment', ['environmentId'])
@Index('scim_tokens_organization', ['organizationId'])
export class ScimToken {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'scim_tokens_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Application, { name: 'scim_tokens_application_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  applicationId!: string;
  @ForeignKey(() => Environment, { name: 'scim_tokens_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @ForeignKey(() => Organization, { name: 'scim_tokens_organization_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  organizationId!: string | null;
  @Column('text') name!: string;
  @Column('bytea') tokenHash!: Buffer;
  @Column('text') tokenPreview!: string;
  @Column('timestamptz', { nullable: true }) lastUsedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) expiresAt!: Date | null;
  @Column('timestamptz') createdAt!: Date;
}
