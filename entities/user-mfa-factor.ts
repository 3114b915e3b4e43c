import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { User } from './user.js';

/** A second factor that a platform admin has enrolled: one set for all their Accounts. */
@Entity('user_mfa_factors')
@Index('user_mfa_factors_user', ['userId'])
@Index('user_mfa_factors_credential', ['credentialId'], { unique: true })
@Check('user_mfa_factors_type', `type in ('totp', 'webauthn')`)
@Check(
  'user_mfa_factors_complete',
  `(type = 'totp') = (secret is not null) and (type = 'webauthn') = (credential_id is not null and public_key is not null)`,
)
@Check('user_mfa_factors_device_type', `device_type in ('single_device', 'multi_device')`)
export class UserMfaFactor {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => User, { name: 'user_mfa_factors_user_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  userId!: string;
  @Column('text') type!: 'totp' | 'webauthn';
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
  /** Whether the authenticator lists it without being told its id; null if the browser did not say. */
  @Column('boolean', { nullable: true }) isDiscoverable!: boolean | null;
  /**
   * Whether it signs in by itself, as a passkey: since the password was set, it has verified its user in a sign-in that
   * the person had proved here, and not at an identity provider (WebAuthn Level 3 §4, `uvInitialized`;
   * docs/decisions/0109).
   */
  @Column('boolean', { default: false }) signsIn!: boolean;
  @Column('timestamptz') enrolledAt!: Date;
  @Column('timestamptz', { nullable: true }) lastUsedAt!: Date | null;
}
