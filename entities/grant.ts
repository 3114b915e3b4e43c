import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Identity } from './identity.js';
import { Session } from './session.js';

/** What a client got for one redeemed code: access tokens name it, and it is the family of its refresh tokens. */
@Entity('grants')
@Index('grants_session', ['sessionId'])
@Index('grants_identity', ['identityId', 'environmentId'])
@Index('grants_client', ['oauthClientId'])
@Index('grants_expiry', ['expiresAt'])
export class Grant {
  @PrimaryColumn('uuid') id!: string;
  /** No foreign key, nor for the Environment: what a sign-in writes locks neither of them (docs/decisions/0112). */
  @Column('uuid') accountId!: string;
  @Column('uuid') environmentId!: string;
  /** No foreign key: deleting a client does not wait for the deletion of all that it has issued (`RemovedClient`). */
  @Column('uuid')
  oauthClientId!: string;
  @ForeignKey(() => Identity, { name: 'grants_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  identityId!: string;
  @ForeignKey(() => Session, { name: 'grants_session_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  sessionId!: string;
  /** The organization that the sign-in was for; it may have been deleted. */
  @Column('uuid', { nullable: true }) organizationId!: string | null;
  @Column('text', { array: true }) scope!: string[];
  @Column('timestamptz') authenticatedAt!: Date;
  /** When an identity provider checked it (`auth_time`); 1970 if the provider does not say, null: `authenticatedAt`. */
  @Column('timestamptz', { nullable: true }) authTime!: Date | null;
  @Column('text', { array: true }) amr!: string[];
  @Column('text') acr!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) revokedAt!: Date | null;
  @Column('text', { nullable: true }) revokedReason!: string | null;
}
