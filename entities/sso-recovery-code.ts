import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { Organization } from './organization.js';

/** One of an organization's codes for when its identity provider is down. Older generations are deleted. */
@Entity('sso_recovery_codes')
@Index('sso_recovery_codes_code', ['organizationId', 'codeHash'], { unique: true })
@Index('sso_recovery_codes_account', ['accountId'])
@Index('sso_recovery_codes_environment', ['environmentId'])
export class SsoRecoveryCode {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'sso_recovery_codes_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'sso_recovery_codes_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @ForeignKey(() => Organization, { name: 'sso_recovery_codes_organization_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  organizationId!: string;
  @Column('integer') generation!: number;
  @Column('bytea') codeHash!: Buffer;
  /** argon2id's parameters and the set's salt: a PHC string without its digest. Null: SHA-256, as in older sets. */
  @Column('text', { nullable: true }) hashParameters!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz', { nullable: true }) usedAt!: Date | null;
}
