import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { SsoConnection } from './sso-connection.js';

/** Somebody whom we have sent to their identity provider. One answer is taken for each. */
@Entity('sso_requests')
@Index('sso_requests_state', ['stateHash'], { unique: true })
@Index('sso_requests_connection', ['connectionId'])
@Index('sso_requests_account', ['accountId'])
@Index('sso_requests_environment', ['environmentId'])
@Index('sso_requests_expiry', ['expiresAt'])
@Check('sso_requests_purpose', `purpose in ('identity', 'admin', 'test')`)
export class SsoRequest {
  /** Also the AuthnRequest's `ID`, after an underscore (SAML 2.0 Core §3.2.1). */
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'sso_requests_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'sso_requests_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  environmentId!: string | null;
  @ForeignKey(() => SsoConnection, { name: 'sso_requests_connection_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  connectionId!: string;
  @Column('text') purpose!: 'identity' | 'admin' | 'test';
  /** Hash of the `state` or `RelayState`, which works once. */
  @Column('bytea') stateHash!: Buffer;
  /** Hash of the cookie of the browser that was sent away. */
  @Column('bytea') browserHash!: Buffer;
  /** Hash of what the browser that brought the answer was given; null until then, and where that is the cookie. */
  @Column('bytea', { nullable: true }) delivererHash!: Buffer | null;
  /** Of OpenID Connect, sealed: nonce and code verifier. */
  @Column('text', { nullable: true }) sealedSecrets!: string | null;
  /** The authorization request that goes on afterwards; empty for an administrator. */
  @Column('jsonb', { default: {} }) parameters!: Record<string, string>;
  /** What the provider's checked answer said, sealed, until the browser comes for it. */
  @Column('text', { nullable: true }) sealedAnswer!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  /** When the provider's answer came. */
  @Column('timestamptz', { nullable: true }) answeredAt!: Date | null;
  /** When the browser has come for it. */
  @Column('timestamptz', { nullable: true }) completedAt!: Date | null;
}
