import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { SsoConnection } from './sso-connection.js';
import { User } from './user.js';

/** A platform admin who has proved a first factor and still has to prove a second one. Its id is the session's to be. */
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
  /** The identity provider that the first factor was proved to, if it was one. */
  @ForeignKey(() => SsoConnection, { name: 'pending_user_sign_ins_sso_connection_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  ssoConnectionId!: string | null;
  /** In `sso_sessions`, where it may have gone: their session at that provider. */
  @Column('uuid', { nullable: true }) ssoSessionId!: string | null;
  /** Of the first factor (RFC 8176), and when they came in by it. */
  @Column('text', { array: true }) amr!: string[];
  @Column('timestamptz') authenticatedAt!: Date;
  /** When it was proved to an identity provider, as `auth_time` says; 1970 of one that does not tell, null: `authenticatedAt`. */
  @Column('timestamptz', { nullable: true }) authTime!: Date | null;
  /** Of the password as it was then: a later change makes the sign-in worthless. */
  @Column('timestamptz', { nullable: true }) passwordChangedAt!: Date | null;
  /** The Application that was asked for; whether it is one of theirs is looked up at the end. */
  @Column('uuid', { nullable: true }) applicationId!: string | null;
  /** The last WebAuthn challenge that was given out for it. */
  @Column('text', { nullable: true }) webauthnChallenge!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) completedAt!: Date | null;
}
