import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Session } from './session.js';

/** An authorization code (RFC 6749 §4.1.2). After its use it is kept, so that a second use revokes what it issued. */
@Entity('authorization_codes')
@Index('authorization_codes_expiry', ['expiresAt'], { where: 'grant_id is null' })
@Index('authorization_codes_session', ['sessionId'])
@Index('authorization_codes_client', ['oauthClientId'])
export class AuthorizationCode {
  @PrimaryColumn('bytea') codeHash!: Buffer;
  /** No foreign key, nor for the Environment: what a sign-in writes locks neither of them (docs/decisions/0112). */
  @Column('uuid') accountId!: string;
  @Column('uuid') environmentId!: string;
  /** No foreign key: deleting a client does not wait for the deletion of all that it has issued (`RemovedClient`). */
  @Column('uuid')
  oauthClientId!: string;
  @ForeignKey(() => Session, { name: 'authorization_codes_session_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  sessionId!: string;
  /** The organization that the sign-in is for. */
  @Column('uuid', { nullable: true }) organizationId!: string | null;
  @Column('text') redirectUri!: string;
  @Column('text', { array: true }) scope!: string[];
  @Column('text', { nullable: true }) nonce!: string | null;
  @Column('text', { nullable: true }) codeChallenge!: string | null;
  @Column('timestamptz') authenticatedAt!: Date;
  /** When an identity provider checked it (`auth_time`); 1970 if the provider does not say, null: `authenticatedAt`. */
  @Column('timestamptz', { nullable: true }) authTime!: Date | null;
  @Column('text', { array: true }) amr!: string[];
  @Column('text') acr!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  /** The grant that it was redeemed for; null until then. */
  @Column('uuid', { nullable: true }) grantId!: string | null;
}
