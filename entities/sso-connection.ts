import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { Organization } from './organization.js';
import { Role } from './role.js';

/** Who signs in with it: the Account's administrators, an Environment's end users, or an organization's members. */
export const ssoScopes = ['admin', 'identity', 'organization'] as const;
export type SsoScope = (typeof ssoScopes)[number];
export const ssoTypes = ['saml', 'oidc'] as const;
export type SsoType = (typeof ssoTypes)[number];
export const ssoConnectionStatuses = ['configuring', 'active', 'disabled', 'auto_disabled'] as const;
export type SsoConnectionStatus = (typeof ssoConnectionStatuses)[number];

/** A customer's identity provider, and how people sign in with it. */
@Entity('sso_connections')
@Index('sso_connections_of_organization', ['organizationId'], { unique: true })
@Index('sso_connections_by_age', ['accountId', 'environmentId', 'createdAt', 'id'])
@Index('sso_connections_environment', ['environmentId'])
@Index('sso_connections_default_role', ['defaultRoleId'])
@Check('sso_connections_type', `type in ('saml', 'oidc')`)
@Check('sso_connections_status', `status in ('configuring', 'active', 'disabled', 'auto_disabled')`)
@Check(
  'sso_connections_scope',
  `scope = case when organization_id is not null then 'organization' when environment_id is not null then 'identity' else 'admin' end`,
)
@Check('sso_connections_place', `organization_id is null or environment_id is not null`)
export class SsoConnection {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'sso_connections_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'sso_connections_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  environmentId!: string | null;
  @ForeignKey(() => Organization, { name: 'sso_connections_organization_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  organizationId!: string | null;
  @Column('text') scope!: SsoScope;
  @Column('text') type!: SsoType;
  @Column('text') name!: string;
  @Column('text') status!: SsoConnectionStatus;
  /** False: the Account's developers made it, so the organization cannot change it. */
  @Column('boolean') ownedByOrganization!: boolean;
  @Column('text', { nullable: true }) samlEntityId!: string | null;
  @Column('text', { nullable: true }) samlSsoUrl!: string | null;
  @Column('text', { nullable: true }) samlSloUrl!: string | null;
  /** Where our responses to its logout requests go; null: to `samlSloUrl` as well. */
  @Column('text', { nullable: true }) samlSloResponseUrl!: string | null;
  /** One certificate in PEM, or several concatenated ones while the provider changes its key. */
  @Column('text', { nullable: true }) samlSigningCert!: string | null;
  /** When a mail last warned that these expire. */
  @Column('timestamptz', { nullable: true }) samlCertificateWarnedAt!: Date | null;
  @Column('text', { nullable: true }) samlSignatureAlgorithm!: string | null;
  @Column('boolean', { default: true }) samlWantAssertionsSigned!: boolean;
  @Column('text', { nullable: true }) samlNameIdFormat!: string | null;
  /** Whether unsolicited responses are accepted (SAML 2.0 Profiles §4.1.5). */
  @Column('boolean', { default: false }) samlAllowIdpInitiated!: boolean;
  @Column('boolean', { default: false }) forceAuthn!: boolean;
  /** Whether a sign-out here also signs out at the provider, if it has an endpoint for that. */
  @Column('boolean', { default: true }) singleLogoutEnabled!: boolean;
  @Column('text', { nullable: true }) oidcDiscoveryUrl!: string | null;
  @Column('text', { nullable: true }) oidcClientId!: string | null;
  @Column('text', { nullable: true }) oidcClientSecretSealed!: string | null;
  @Column('text', { array: true }) oidcScopes!: string[];
  @Column('boolean', { default: false }) jitProvisioningEnabled!: boolean;
  /** Maps a field of the Identity to the name of the attribute, or claim, that fills it. */
  @Column('jsonb', { default: {} }) attributeMapping!: Record<string, string>;
  @ForeignKey(() => Role, { name: 'sso_connections_default_role_fk', onDelete: 'SET NULL' })
  @Column('uuid', { nullable: true })
  defaultRoleId!: string | null;
  @Column('timestamptz', { nullable: true }) lastLoginAt!: Date | null;
  @Column('timestamptz', { nullable: true }) lastLoginFailureAt!: Date | null;
  @Column('integer', { default: 0 }) consecutiveFailures!: number;
  @Column('timestamptz', { nullable: true }) autoDisabledAt!: Date | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
