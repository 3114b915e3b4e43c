import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { Identity } from './identity.js';

export type EmailedCodePurpose = 'login' | 'mfa' | 'mfa_enrollment';

/** A six-digit code that was mailed. The code itself is derived from the id and stored nowhere (docs/decisions/0004). */
@Entity('emailed_codes')
@Index('emailed_codes_identity', ['identityId'])
@Index('emailed_codes_flow', ['flowHash', 'purpose'])
@Index('emailed_codes_account', ['accountId'])
@Index('emailed_codes_environment', ['environmentId'])
@Index('emailed_codes_expiry', ['expiresAt'])
@Check('emailed_codes_purpose', `purpose in ('login', 'mfa', 'mfa_enrollment')`)
export class EmailedCode {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'emailed_codes_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'emailed_codes_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  /** Null for an address that nobody has: the row is there so that both take the same work. */
  @ForeignKey(() => Identity, { name: 'emailed_codes_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  identityId!: string | null;
  /** Where a first right code creates the Identity, its address; nowhere else. */
  @Column('citext', { nullable: true }) email!: string | null;
  @Column('text') purpose!: EmailedCodePurpose;
  /** Hash of the token that the page which asks for the code carries: a code works only where it was asked for. */
  @Column('bytea') flowHash!: Buffer;
  @Column('text') keyId!: string;
  /** Wrong tries so far; after the fifth it is worthless. */
  @Column('integer') attempts!: number;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) consumedAt!: Date | null;
}
