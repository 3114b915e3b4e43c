import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Application } from './application.js';
import { Environment } from './environment.js';

@Entity('api_keys')
@Index('api_keys_client_id', ['clientId'], { unique: true })
@Index('api_keys_by_age', ['environmentId', 'createdAt', 'id'])
@Check('api_keys_previous_secret', '(previous_secret_hash is null) = (previous_secret_expires_at is null)')
@Check('api_keys_access_mode', `access_mode in ('full', 'scoped')`)
export class ApiKey {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'api_keys_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Application, { name: 'api_keys_application_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  applicationId!: string;
  @ForeignKey(() => Environment, { name: 'api_keys_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  /** The public part of the key, by which it is found. */
  @Column('text') clientId!: string;
  @Column('text') name!: string;
  @Column('text', { nullable: true }) description!: string | null;
  @Column('bytea') secretHash!: Buffer;
  /** The secret from before the last rotation, and until when it is valid. */
  @Column('bytea', { nullable: true }) previousSecretHash!: Buffer | null;
  @Column('timestamptz', { nullable: true }) previousSecretExpiresAt!: Date | null;
  @Column('text') keyPreview!: string;
  @Column('text') accessMode!: 'full' | 'scoped';
  @Column('text', { array: true }) scopes!: string[];
  @Column('boolean') isActive!: boolean;
  @Column('timestamptz', { nullable: true }) lastUsedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) expiresAt!: Date | null;
  @Column('timestamptz') createdAt!: Date;
}
