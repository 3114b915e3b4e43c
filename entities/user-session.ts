import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Application } from './application.js';
import { SsoConnection } from './sso-connection.js';
import { User } from './user.js';

/** A signed-in browser of a platform admin. Its id is the `sid` of its tokens and the family of its refresh tokens. */
@Entity('user_sessions')
@Index('user_sessions_user', ['userId'])
@Index('user_sessions_account', ['accountId'])
@Index('user_sessions_application', ['applicationId'])
@Index('user_sessions_expiry', ['expiresAt'])
@Index('user_sessions_sso_connection', ['ssoConnectionId'], { where: 'sso_connection_id is not null' })
export class UserSession {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => User, { name: 'user_sessions_user_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  userId!: string;
  /** The Account and Application to which its tokens are bound; null for a user without an Account. */
  @ForeignKey(() => Account, { name: 'user_sessions_account_fk', onDelete: 'SET NULL' })
  @Column('uuid', { nullable: true })
  accountId!: string | null;
  @ForeignKey(() => Application, { name: 'user_sessions_application_fk', onDelete: 'SET NULL' })
  @Column('uuid', { nullable: true })
  applicationId!: string | null;
  @Column('timestamptz') authenticatedAt!: Date;
  /** When an identity provider checked it (`auth_time`); 1970 if the provider does not say, null: `authenticatedAt`. */
  @Column('timestamptz', { nullable: true }) authTime!: Date | null;
  @Column('text', { array: true }) amr!: string[];
  @Column('text', { default: 'urn:gatehouse:aal1' }) acr!: string;
  /** The identity provider with which it began, if any. */
  @ForeignKey(() => SsoConnection, { name: 'user_sessions_sso_connection_fk', onDelete: 'SET NULL' })
  @Column('uuid', { nullable: true })
  ssoConnectionId!: string | null;
  /** The person's session at that provider, in `sso_sessions`; that row may have been deleted. */
  @Column('uuid', { nullable: true }) ssoSessionId!: string | null;
  @Column('text', { nullable: true }) ipAddress!: string | null;
  @Column('text', { nullable: true }) userAgent!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') lastUsedAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) revokedAt!: Date | null;
}
