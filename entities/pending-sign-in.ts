import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { Identity } from './identity.js';
import { SsoConnection } from './sso-connection.js';

/** How the first factor was proved; `session`: by a sign-in of before, which has to become a stronger one. */
export type FirstFactorMethod = 'password' | 'email_otp' | 'passkey' | 'sso' | 'session';

/** A person who has proved a first factor and still has to prove, or to enroll, a second one. */
@Entity('pending_sign_ins')
@Index('pending_sign_ins_token', ['tokenHash'], { unique: true })
@Index('pending_sign_ins_identity', ['identityId'])
@Index('pending_sign_ins_account', ['accountId'])
@Index('pending_sign_ins_environment', ['environmentId'])
@Index('pending_sign_ins_client', ['oauthClientId'])
@Index('pending_sign_ins_expiry', ['expiresAt'])
@Index('pending_sign_ins_sso_connection', ['ssoConnectionId'], { where: 'sso_connection_id is not null' })
@Check('pending_sign_ins_channel', `channel in ('hosted', 'api')`)
@Check('pending_sign_ins_purpose', `purpose in ('challenge', 'enrollment')`)
@Check('pending_sign_ins_method', `method in ('password', 'email_otp', 'passkey', 'sso', 'session')`)
export class PendingSignIn {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'pending_sign_ins_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'pending_sign_ins_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  /** Without a foreign key: deleting a client does not wait for all that it has given out (`RemovedClient`). */
  @Column('uuid')
  oauthClientId!: string;
  @ForeignKey(() => Identity, { name: 'pending_sign_ins_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  identityId!: string;
  /** Hash of the `challenge_token` or `enrollment_token`. */
  @Column('bytea') tokenHash!: Buffer;
  @Column('text') channel!: 'hosted' | 'api';
  @Column('text') purpose!: 'challenge' | 'enrollment';
  @Column('text') method!: FirstFactorMethod;
  /** The identity provider that the first factor was proved to, if it was one. */
  @ForeignKey(() => SsoConnection, { name: 'pending_sign_ins_sso_connection_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  ssoConnectionId!: string | null;
  /** In `sso_sessions`, where it may have gone: their session at that provider. */
  @Column('uuid', { nullable: true }) ssoSessionId!: string | null;
  /** Of the first factor (RFC 8176), and when it was proved. */
  @Column('text', { array: true }) amr!: string[];
  @Column('timestamptz') authenticatedAt!: Date;
  /** When it was proved to an identity provider, as `auth_time` says; 1970 of one that does not tell, null: `authenticatedAt`. */
  @Column('timestamptz', { nullable: true }) authTime!: Date | null;
  @Column('text') acr!: string;
  /** When a second factor that counts was proved, or enrolled, in it. */
  @Column('timestamptz', { nullable: true }) secondFactorAt!: Date | null;
  /** When a factor of the person's own was shown, whether it counts or not. */
  @Column('timestamptz', { nullable: true }) ownFactorAt!: Date | null;
  /** Whether any enrolled factor was proved in it, so that one more may be added. */
  @Column('boolean') hasProvedFactor!: boolean;
  /** Whether only a factor that makes `urn:gatehouse:aal2` will do. */
  @Column('boolean') requiresAal2!: boolean;
  /** The authorization request that goes on afterwards; empty in the API. */
  @Column('jsonb') parameters!: Record<string, string>;
  /** The last WebAuthn challenge that was given out for it. */
  @Column('text', { nullable: true }) webauthnChallenge!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) completedAt!: Date | null;
}
