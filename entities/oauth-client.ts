import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Application } from './application.js';
import { Environment } from './environment.js';

export type TokenEndpointAuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';

/** A relying party, with the fields of RFC 7591 §2. */
@Entity('oauth_clients')
@Index('oauth_clients_client_id', ['clientId'], { unique: true })
@Index('oauth_clients_by_age', ['environmentId', 'createdAt', 'id'])
@Check('oauth_clients_type', `(client_type = 'public') = (token_endpoint_auth_method = 'none')`)
@Check('oauth_clients_previous_secret', '(previous_secret_hash is null) = (previous_secret_expires_at is null)')
export class OAuthClient {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'oauth_clients_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Application, { name: 'oauth_clients_application_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  applicationId!: string;
  @ForeignKey(() => Environment, { name: 'oauth_clients_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @Column('text') clientId!: string;
  @Column('text') name!: string;
  @Column('text') clientType!: 'public' | 'confidential';
  @Column('text', { array: true }) redirectUris!: string[];
  @Column('text', { array: true }) postLogoutRedirectUris!: string[];
  @Column('text') tokenEndpointAuthMethod!: TokenEndpointAuthMethod;
  @Column('bytea', { nullable: true }) secretHash!: Buffer | null;
  /** That of the secret before the last rotation, for as long as it still works. */
  @Column('bytea', { nullable: true }) previousSecretHash!: Buffer | null;
  @Column('timestamptz', { nullable: true }) previousSecretExpiresAt!: Date | null;
  @Column('boolean') requirePkce!: boolean;
  @Column('boolean') rotateRefreshTokens!: boolean;
  /** The scopes that it may get (RFC 7591 §2 `scope`). */
  @Column('text', { array: true, default: ['openid', 'profile', 'email', 'org', 'permissions'] }) scopes!: string[];
  /** Whether each person must consent before the client gets any of their data. */
  @Column('boolean', { default: false }) consentRequired!: boolean;
  @Column('jsonb', { nullable: true }) jwks!: { keys: object[] } | null;
  @Column('text', { nullable: true }) jwksUri!: string | null;
  @Column('text', { nullable: true }) logoUrl!: string | null;
  /** The URL at which the client itself starts a sign-in (OpenID Connect Core 1.0 §4). */
  @Column('text', { nullable: true }) initiateLoginUri!: string | null;
  /** The URL that receives a logout token for each session that ends (OpenID Connect Back-Channel Logout 1.0 §2.2). */
  @Column('text', { nullable: true }) backchannelLogoutUri!: string | null;
  /** Whether its logout tokens name the session alone (`sid`), and not the person as well (`sub`). */
  @Column('boolean', { default: false }) backchannelLogoutSessionRequired!: boolean;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
