import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Identity } from './identity.js';

export type MfaFactorType = 'totp' | 'webauthn' | 'email_otp';

/** A second factor that an Identity has enrolled: one set for all Environments of its Account. */
@Entity('mfa_factors')
@Index('mfa_factors_identity', ['identityId'])
@Index('mfa_factors_credential', ['accountId', 'credentialId'], { unique: true })
@Index('mfa_factors_one_email_otp', ['identityId'], { unique: true, where: `type = 'email_otp'` })
@Check('mfa_factors_type', `type in ('totp', 'webauthn', 'email_otp')`)
@Check(
  'mfa_factors_complete',
  `(type = 'totp') = (secret is not null) and (type = 'webauthn') = (credential_id is not null and public_key is not null)`,
)
@Check('mfa_factors_device_type', `device_type in ('single_device', 'multi_device')`)
export class MfaFactor {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'mfa_factors_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Identity, { name: 'mfa_factors_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  identityId!: string;
  @Column('text') type!: MfaFactorType;
  @Column('text') label!: string;
  /** TOTP: the sealed shared secret. */
  @Column('text', { nullable: true }) secret!: string | null;
  /** TOTP: the last used time step, as text (bigint); no step up to it is accepted again (RFC 6238 §5.2). */
  @Column('bigint', { nullable: true }) lastUsedStep!: string | null;
  /** WebAuthn Level 3 §4: credential id, COSE public key, signature counter, and the authenticator's transports. */
  @Column('bytea', { nullable: true }) credentialId!: Buffer | null;
  @Column('bytea', { nullable: true }) publicKey!: Buffer | null;
  @Column('bigint', { nullable: true }) signCount!: string | null;
  @Column('text', { array: true, nullable: true }) transports!: string[] | null;
  @Column('text', { nullable: true }) deviceType!: 'single_device' | 'multi_device' | null;
  @Column('boolean', { nullable: true }) isBackedUp!: boolean | null;
  /** Whether it can be a first factor: a passkey that works without entering an address. */
  @Column('boolean', { nullable: true }) isDiscoverable!: boolean | null;
  /**
   * WebAuthn: whether it may sign in by itself, as a passkey. A new password ends that, until the key has been used
   * after it (docs/decisions/0012).
   */
  @Column('boolean', { default: true }) signsIn!: boolean;
  @Column('timestamptz') enrolledAt!: Date;
  @Column('timestamptz', { nullable: true }) lastUsedAt!: Date | null;
}
