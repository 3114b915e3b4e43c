import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Identity } from './identity.js';
import { SsoConnection } from './sso-connection.js';

/** How the first factor was proved; `session`: by an existing session, which must become a stronger one. */
export type FirstFactorMethod = 'password' | 'email_otp' | 'passkey' | 'sso' | 'session';

/** The sign-in of a person who has proved a first factor and still has to prove, or to enroll, a second one. */
@Entity('pending_sign_ins')
@Index('pending_sign_ins_token', ['tokenHash'], { unique: true })
@Index('pending_sign_ins_identity', ['identityId'])
@Index('pending_sign_ins_client', ['oauthClientId'])
@Index('pending_sign_ins_expiry', ['expiresAt'])
@Index('pending_sign_ins_sso_connection', ['ssoConnectionId'], { where: 'sso_connection_id is not null' })
@Check('pending_sign_ins_channel', `channel in ('hosted', 'api')`)
@Check('pending_sign_ins_purpose', `purpose in ('challenge', 'enrollment')`)
@Check('pending_sign_ins_method', `method in ('password', 'email_otp', 'passkey', 'sso', 'session')`)
export class PendingSignIn {
  @PrimaryColumn('uuid') id!: string;
  /** No foreign key, nor for the Environment: what a sign-in writes locks neither of them (docs/decisions/0112). */
  @Column('uuid') accountId!: string;
  @Column('uuid') environmentId!: string;
  /** No foreign key: deleting a client does not wait for the deletion of all that it has issued (`RemovedClient`). */
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
  /** The identity provider that confirmed the first factor, if one did. */
  @ForeignKey(() => SsoConnection, { name: 'pending_sign_ins_sso_connection_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  ssoConnectionId!: string | null;
  /** The person's session at that provider, in `sso_sessions`; that row may have been deleted. */
  @Column('uuid', { nullable: true }) ssoSessionId!: string | null;
  /** The methods of the first factor (RFC 8176), and when it was proved. */
  @Column('text', { array: true }) amr!: string[];
  @Column('timestamptz') authenticatedAt!: Date;
  /** When an identity provider checked it (`auth_time`); 1970 if the provider does not say, null: `authenticatedAt`. */
  @Column('timestamptz', { nullable: true }) authTime!: Date | null;
  @Column('text') acr!: string;
  /** When an allowed second factor was proved, or enrolled, in this sign-in. */
  @Column('timestamptz', { nullable: true }) secondFactorAt!: Date | null;
  /** When the person proved a factor of their own, whether it is allowed here or not. */
  @Column('timestamptz', { nullable: true }) ownFactorAt!: Date | null;
  /** Whether any enrolled factor was proved in this sign-in, so that another one may be added. */
  @Column('boolean') hasProvedFactor!: boolean;
  /** Whether only a factor that yields `urn:gatehouse:aal2` is sufficient. */
  @Column('boolean') requiresAal2!: boolean;
  /** The authorization request that continues afterwards; empty in the API. */
  @Column('jsonb') parameters!: Record<string, string>;
  /** The last WebAuthn challenge that was issued for this sign-in. */
  @Column('text', { nullable: true }) webauthnChallenge!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) completedAt!: Date | null;
}
