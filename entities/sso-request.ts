import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { SsoConnection } from './sso-connection.js';

/** A redirect of a person to their identity provider. Only one answer to it is accepted. */
@Entity('sso_requests')
@Index('sso_requests_state', ['stateHash'], { unique: true })
@Index('sso_requests_connection', ['connectionId'])
@Index('sso_requests_environment', ['environmentId'])
@Index('sso_requests_expiry', ['expiresAt'])
@Check('sso_requests_purpose', `purpose in ('identity', 'admin', 'test')`)
export class SsoRequest {
  /** Also the AuthnRequest's `ID`, after an underscore (SAML 2.0 Core §3.2.1). */
  @PrimaryColumn('uuid') id!: string;
  /** No foreign key, nor for the Environment: what a sign-in writes locks neither of them (docs/decisions/0112). */
  @Column('uuid') accountId!: string;
  @Column('uuid', { nullable: true }) environmentId!: string | null;
  @ForeignKey(() => SsoConnection, { name: 'sso_requests_connection_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  connectionId!: string;
  @Column('text') purpose!: 'identity' | 'admin' | 'test';
  /** Hash of the `state` or `RelayState`, which works once. */
  @Column('bytea') stateHash!: Buffer;
  /** Hash of the cookie of the browser that was redirected. */
  @Column('bytea') browserHash!: Buffer;
  /** Hash of the token for the browser that delivered the answer; null until then, and if the cookie serves instead. */
  @Column('bytea', { nullable: true }) delivererHash!: Buffer | null;
  /** For OpenID Connect, sealed: nonce and code verifier. */
  @Column('text', { nullable: true }) sealedSecrets!: string | null;
  /** The authorization request that continues afterwards; empty for an administrator. */
  @Column('jsonb', { default: {} }) parameters!: Record<string, string>;
  /** What the provider's checked answer said, sealed, until the browser fetches it. */
  @Column('text', { nullable: true }) sealedAnswer!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  /** When the provider's answer arrived. */
  @Column('timestamptz', { nullable: true }) answeredAt!: Date | null;
  /** When the browser fetched the answer. */
  @Column('timestamptz', { nullable: true }) completedAt!: Date | null;
}
