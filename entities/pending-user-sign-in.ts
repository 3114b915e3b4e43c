import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { SsoConnection } from './sso-connection.js';
import { User } from './user.js';

/** The sign-in of a platform admin who still has to prove a second factor. Its id becomes the session's id. */
@Entity('pending_user_sign_ins')
@Index('pending_user_sign_ins_token', ['tokenHash'], { unique: true })
@Index('pending_user_sign_ins_user', ['userId'])
@Index('pending_user_sign_ins_expiry', ['expiresAt'])
@Index('pending_user_sign_ins_sso_connection', ['ssoConnectionId'], { where: 'sso_connection_id is not null' })
@Check('pending_user_sign_ins_method', `method in ('password', 'sso')`)
export class PendingUserSignIn {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => User, { name: 'pending_user_sign_ins_user_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  userId!: string;
  /** Hash of the `challenge_token`. */
  @Column('bytea') tokenHash!: Buffer;
  @Column('text') method!: 'password' | 'sso';
  /** The identity provider that confirmed the first factor, if one did. */
  @ForeignKey(() => SsoConnection, { name: 'pending_user_sign_ins_sso_connection_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  ssoConnectionId!: string | null;
  /** The person's session at that provider, in `sso_sessions`; that row may have been deleted. */
  @Column('uuid', { nullable: true }) ssoSessionId!: string | null;
  /** The methods of the first factor (RFC 8176), and when the person used it here. */
  @Column('text', { array: true }) amr!: string[];
  @Column('timestamptz') authenticatedAt!: Date;
  /** When an identity provider checked it (`auth_time`); 1970 if the provider does not say, null: `authenticatedAt`. */
  @Column('timestamptz', { nullable: true }) authTime!: Date | null;
  /** The user's value at that time: a later change of the password invalidates the sign-in. */
  @Column('timestamptz', { nullable: true }) passwordChangedAt!: Date | null;
  /** The requested Application; whether the person may use it is checked at the end. */
  @Column('uuid', { nullable: true }) applicationId!: string | null;
  /** The last WebAuthn challenge that was issued for this sign-in. */
  @Column('text', { nullable: true }) webauthnChallenge!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) completedAt!: Date | null;
}
