import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { SsoConnection } from './sso-connection.js';

/** A test sign-in with an SSO connection: its link and, until it is deleted, its result. */
@Entity('sso_tests')
@Index('sso_tests_link', ['tokenHash'], { unique: true })
@Index('sso_tests_connection', ['connectionId'])
@Index('sso_tests_account', ['accountId'])
@Index('sso_tests_environment', ['environmentId'])
@Index('sso_tests_expiry', ['expiresAt'])
export class SsoTest {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'sso_tests_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'sso_tests_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  environmentId!: string | null;
  @ForeignKey(() => SsoConnection, { name: 'sso_tests_connection_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  connectionId!: string;
  /** Hash of the link's token, which works once. */
  @Column('bytea') tokenHash!: Buffer;
  /** What the provider's checked answer said, or why it was refused, sealed. */
  @Column('text', { nullable: true }) sealedOutcome!: string | null;
  @Column('timestamptz') createdAt!: Date;
  /** When the link was used. */
  @Column('timestamptz', { nullable: true }) startedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) finishedAt!: Date | null;
  /** Until when the report is shown. */
  @Column('timestamptz') expiresAt!: Date;
}
