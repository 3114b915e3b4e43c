import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Identity } from './identity.js';

export type EmailedCodePurpose = 'login' | 'mfa' | 'mfa_enrollment' | 'email_change';

/** A mailed six-digit code. The code itself is derived from the id and never stored (docs/decisions/0004). */
@Entity('emailed_codes')
@Index('emailed_codes_identity', ['identityId'])
@Index('emailed_codes_flow', ['flowHash', 'purpose'])
@Index('emailed_codes_environment', ['environmentId'])
@Index('emailed_codes_expiry', ['expiresAt'])
@Check('emailed_codes_purpose', `purpose in ('login', 'mfa', 'mfa_enrollment', 'email_change')`)
export class EmailedCode {
  @PrimaryColumn('uuid') id!: string;
  /** No foreign key, nor for the Environment: what a sign-in writes locks neither of them (docs/decisions/0112). */
  @Column('uuid') accountId!: string;
  @Column('uuid') environmentId!: string;
  /** Null for an unknown address: the row exists so that both cases cost the same work. */
  @ForeignKey(() => Identity, { name: 'emailed_codes_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  identityId!: string | null;
  /**
   * The address, only if the first correct code creates the Identity or changes its address; the former address, for
   * the mail to it, once it has changed.
   */
  @Column('citext', { nullable: true }) email!: string | null;
  @Column('text') purpose!: EmailedCodePurpose;
  /** Hash of the token in the page that asks for the code: a code is valid only in the flow that requested it. */
  @Column('bytea') flowHash!: Buffer;
  @Column('text') keyId!: string;
  /** Wrong tries so far; after the fifth the code is invalid. */
  @Column('integer') attempts!: number;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) consumedAt!: Date | null;
}
