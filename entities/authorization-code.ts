import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { Session } from './session.js';

/** RFC 6749 §4.1.2. Kept a while after its use, so that a second use can revoke what the first one issued. */
@Entity('authorization_codes')
@Index('authorization_codes_expiry', ['expiresAt'], { where: 'grant_id is null' })
@Index('authorization_codes_session', ['sessionId'])
@Index('authorization_codes_client', ['oauthClientId'])
export class AuthorizationCode {
  @PrimaryColumn('bytea') codeHash!: Buffer;
  @ForeignKey(() => Account, { name: 'authorization_codes_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'authorization_codes_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  /** Without a foreign key: deleting a client does not wait for all that it has given out (`RemovedClient`). */
  @Column('uuid')
  oauthClientId!: string;
  @ForeignKey(() => Session, { name: 'authorization_codes_session_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  sessionId!: string;
  /** The one that the sign-in is for. */
  @Column('uuid', { nullable: true }) organizationId!: string | null;
  @Column('text') redirectUri!: string;
  @Column('text', { array: true }) scope!: string[];
  @Column('text', { nullable: true }) nonce!: string | null;
  @Column('text', { nullable: true }) codeChallenge!: string | null;
  @Column('timestamptz') authenticatedAt!: Date;
  /** When it was proved to an identity provider, as `auth_time` says; 1970 of one that does not tell, null: `authenticatedAt`. */
  @Column('timestamptz', { nullable: true }) authTime!: Date | null;
  @Column('text', { array: true }) amr!: string[];
  @Column('text') acr!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  /** What it was redeemed for; null until then. */
  @Column('uuid', { nullable: true }) grantId!: string | null;
}
