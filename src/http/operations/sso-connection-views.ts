import { type Static, Type } from 'typebox';
import { ssoConnectionStatuses, ssoScopes, ssoTypes } from '../../../entities/sso-connection.js';
import { type CertificateDates, datesOf } from '../../domain/sso-connections/certificates.js';
import type { ConnectionDetail } from '../../domain/sso-connections/find.js';
import type { ServiceProvider } from '../../domain/sso-connections/service-provider.js';
import {
  type ConnectionSettings,
  lastingNameIdFormats,
  mappedFields,
  signatureAlgorithms,
} from '../../domain/sso-connections/settings.js';
import { definedOnly } from '../surfaces/defined-only.js';
import { Body, Id, line, Name, Nullable, OneOf, Resource, Timestamp, Url } from '../surfaces/schemas.js';
import { worded } from '../surfaces/validation-words.js';

const Optional = Type.Optional;

/** The settings of a connection that administrators can change; those of the other type are refused. */
const SettingFields = {
  saml_entity_id: Optional(Nullable(line(1024, 'The entity ID of the provider: the `Issuer` of its responses.'))),
  saml_sso_url: Optional(
    Nullable(
      Type.String({ ...Url, description: 'The single sign-on URL of the provider, for the HTTP-Redirect binding.' }),
    ),
  ),
  saml_slo_url: Optional(
    Nullable(Type.String({ ...Url, description: 'The single logout URL of the provider, if it has one.' })),
  ),
  saml_slo_response_url: Optional(
    Nullable(
      Type.String({
        ...Url,
        description:
          "Where responses to the provider's logout requests go (`ResponseLocation`), if not to `saml_slo_url`. Suffices for " +
          'these responses; our own logout requests need `saml_slo_url`. Reset by another `saml_slo_url`, unless it is sent along.',
      }),
    ),
  ),
  saml_signing_cert: Optional(
    Nullable(
      Type.String({
        minLength: 1,
        maxLength: 65_536,
        description:
          'An X.509 certificate in PEM, or several concatenated while the provider rolls over its key. RSA keys must have at ' +
          'least 2048 bits; an expired certificate is refused.',
      }),
    ),
  ),
  saml_signature_algorithm: Optional(
    Nullable(OneOf(signatureAlgorithms, { description: 'The hash algorithm of signatures; SHA-1 is not supported.' })),
  ),
  saml_want_assertions_signed: Optional(
    Type.Boolean({
      description:
        'If true, the assertion itself must be signed; otherwise a signature of the whole response is enough.',
    }),
  ),
  saml_name_id_format: Optional(
    Nullable(
      OneOf(lastingNameIdFormats, { description: 'The NameID format to request; null leaves it to the provider.' }),
    ),
  ),
  saml_allow_idp_initiated: Optional(
    Type.Boolean({ description: 'Whether unsolicited (IdP-initiated) responses are accepted.' }),
  ),
  force_authn: Optional(
    Type.Boolean({
      description: 'Requires people to authenticate again, even if they have a session at the provider.',
    }),
  ),
  single_logout_enabled: Optional(
    Type.Boolean({
      description:
        'Whether signing out here also signs out at the provider: through `saml_slo_url`, or the `end_session_endpoint` of ' +
        'its discovery document.',
    }),
  ),
  oidc_discovery_url: Optional(
    Nullable(Type.String({ ...Url, description: 'The issuer, or its discovery document below `/.well-known`.' })),
  ),
  oidc_client_id: Optional(Nullable(line(512))),
  oidc_client_secret: Optional(Nullable(line(2048, 'Stored encrypted, and never returned.'))),
  oidc_scopes: Optional(
    Type.Array(
      Type.String({
        pattern: worded('^[\\x21\\x23-\\x5B\\x5D-\\x7E]{1,100}$', 'must be a scope of OAuth 2.0, without spaces'),
      }),
      {
        maxItems: 30,
        uniqueItems: true,
        description: 'Must include `openid`.',
      },
    ),
  ),
  attribute_mapping: Optional(
    Type.Partial(
      Type.Object(
        Object.fromEntries(mappedFields.map((field) => [field, line(256)])) as Record<
          (typeof mappedFields)[number],
          ReturnType<typeof line>
        >,
      ),
      {
        additionalProperties: false,
        description:
          'Maps fields of an identity to the attributes or claims that fill them. Fields that are not named are filled from ' +
          'the usual names.',
      },
    ),
  ),
  jit_provisioning_enabled: Optional(
    Type.Boolean({
      description: 'Whether an identity is created for people who sign in at the provider and are not known here yet.',
    }),
  ),
};
const ForEndUsers = {
  default_role_id: Optional(
    Nullable(
      Type.String({
        format: 'uuid',
        description:
          'A role that can be assigned, and that the caller may assign: whoever signs in through the connection holds it at ' +
          'the organization, or at the root.',
      }),
    ),
  ),
};
export const AdminConnectionChanges = Body({ name: Optional(Name), ...SettingFields });
export const ConnectionChanges = Body({ name: Optional(Name), ...SettingFields, ...ForEndUsers });
const NewFields = { type: OneOf(ssoTypes), name: Name, ...SettingFields };
export const NewAdminConnection = Body(NewFields);
export const NewConnectionBody = Body({ ...NewFields, ...ForEndUsers });
export const NewConnectionAnywhere = Body({
  ...NewFields,
  ...ForEndUsers,
  organization_id: Optional(
    Nullable(Type.String({ format: 'uuid', description: 'The organization that the connection belongs to, if any.' })),
  ),
});

/** Returns the settings in a body without the absent ones; null means none. */
export const settingsIn = (body: Static<typeof ConnectionChanges>): Partial<ConnectionSettings> =>
  definedOnly({
    name: body.name?.trim(),
    samlEntityId: body.saml_entity_id,
    samlSsoUrl: body.saml_sso_url,
    samlSloUrl: body.saml_slo_url,
    samlSloResponseUrl: body.saml_slo_response_url,
    samlSigningCert: body.saml_signing_cert,
    samlSignatureAlgorithm: body.saml_signature_algorithm,
    samlWantAssertionsSigned: body.saml_want_assertions_signed,
    samlNameIdFormat: body.saml_name_id_format,
    samlAllowIdpInitiated: body.saml_allow_idp_initiated,
    forceAuthn: body.force_authn,
    singleLogoutEnabled: body.single_logout_enabled,
    oidcDiscoveryUrl: body.oidc_discovery_url,
    oidcClientId: body.oidc_client_id,
    oidcClientSecret: body.oidc_client_secret,
    oidcScopes: body.oidc_scopes,
    attributeMapping: body.attribute_mapping,
    jitProvisioningEnabled: body.jit_provisioning_enabled,
    defaultRoleId: body.default_role_id,
  } satisfies { [K in keyof ConnectionSettings]: ConnectionSettings[K] | undefined });

const CertificateFields = {
  fingerprint_sha256: Type.String({ description: 'Of the whole certificate, in hexadecimal with colons.' }),
  not_before: Timestamp,
  not_after: Timestamp,
};
const presentCertificate = ({ fingerprintSha256, notBefore, notAfter }: CertificateDates) => ({
  fingerprint_sha256: fingerprintSha256,
  not_before: notBefore,
  not_after: notAfter,
});

export const ServiceProviderView = Resource('SsoServiceProvider', {
  protocol: OneOf(ssoTypes),
  acs_url: Nullable(
    Type.String({ description: 'SAML: the assertion consumer service URL, to which responses are posted.' }),
  ),
  entity_id: Nullable(Type.String({ description: 'SAML: the entity ID of this service provider.' })),
  metadata_url: Nullable(Type.String({ description: 'SAML: the URL of the service provider metadata.' })),
  slo_url: Nullable(Type.String({ description: 'SAML: the URL for single logout messages.' })),
  redirect_uri: Nullable(Type.String({ description: 'OpenID Connect: the redirect URI.' })),
  post_logout_redirect_uri: Nullable(Type.String({ description: 'OpenID Connect: the post-logout redirect URI.' })),
  backchannel_logout_uri: Nullable(Type.String({ description: 'OpenID Connect: the back-channel logout URI.' })),
  signing_certificate: Nullable(
    Type.Object(CertificateFields, {
      description: 'SAML: of the key that signs our messages; null until the first message creates it.',
    }),
  ),
});

/** Specification, "Organization SSO connection detail". */
export const ConnectionView = Resource('SsoConnection', {
  connection: Type.Object({
    id: Id,
    account_id: Id,
    environment_id: Nullable(Id),
    organization_id: Nullable(Id),
    scope: OneOf(ssoScopes, { description: 'Who signs in through it.' }),
    type: OneOf(ssoTypes),
    name: Type.String(),
    status: OneOf(ssoConnectionStatuses, {
      description: '`auto_disabled`: ten responses of the provider in a row were refused.',
    }),
    saml_entity_id: Nullable(Type.String()),
    saml_sso_url: Nullable(Type.String()),
    saml_slo_url: Nullable(Type.String()),
    saml_slo_response_url: Nullable(Type.String()),
    saml_signing_cert: Nullable(Type.String()),
    certificates: Type.Array(Resource('SsoCertificate', CertificateFields), {
      description:
        'The certificates in `saml_signing_cert`. An email and the event `sso_connection.certificate_expiring` warn 30 days, ' +
        'and 7 days, before the last one expires; sign-ins continue to work after that.',
    }),
    saml_signature_algorithm: Nullable(Type.String()),
    saml_want_assertions_signed: Type.Boolean(),
    saml_name_id_format: Nullable(Type.String()),
    saml_allow_idp_initiated: Type.Boolean(),
    force_authn: Type.Boolean(),
    single_logout_enabled: Type.Boolean(),
    oidc_discovery_url: Nullable(Type.String()),
    oidc_client_id: Nullable(Type.String()),
    oidc_scopes: Type.Array(Type.String()),
    has_oidc_client_secret: Type.Boolean(),
    jit_provisioning_enabled: Type.Boolean(),
    attribute_mapping: Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string' },
    }),
    last_login_at: Nullable(Timestamp),
    last_login_failure_at: Nullable(Timestamp),
    consecutive_failures: Type.Integer(),
    auto_disabled_at: Nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  }),
  default_role: Nullable(Type.Object({ id: Id, name: Type.String() })),
  owned_by_organization: Type.Boolean({
    description: 'False: the developers of the application manage it, and it cannot be changed through the Public API.',
  }),
  service_provider: ServiceProviderView,
});

export const presentServiceProvider = (provider: ServiceProvider) => ({
  protocol: provider.protocol,
  acs_url: provider.acsUrl,
  entity_id: provider.entityId,
  metadata_url: provider.metadataUrl,
  slo_url: provider.sloUrl,
  redirect_uri: provider.redirectUri,
  post_logout_redirect_uri: provider.postLogoutRedirectUri,
  backchannel_logout_uri: provider.backchannelLogoutUri,
  signing_certificate: provider.signingCertificate && presentCertificate(provider.signingCertificate),
});

export const presentConnection = ({ connection: one, defaultRole, serviceProvider }: ConnectionDetail) => ({
  connection: {
    id: one.id,
    account_id: one.accountId,
    environment_id: one.environmentId,
    organization_id: one.organizationId,
    scope: one.scope,
    type: one.type,
    name: one.name,
    status: one.status,
    saml_entity_id: one.samlEntityId,
    saml_sso_url: one.samlSsoUrl,
    saml_slo_url: one.samlSloUrl,
    saml_slo_response_url: one.samlSloResponseUrl,
    saml_signing_cert: one.samlSigningCert,
    certificates: datesOf(one.samlSigningCert ?? '').map(presentCertificate),
    saml_signature_algorithm: one.samlSignatureAlgorithm,
    saml_want_assertions_signed: one.samlWantAssertionsSigned,
    saml_name_id_format: one.samlNameIdFormat,
    saml_allow_idp_initiated: one.samlAllowIdpInitiated,
    force_authn: one.forceAuthn,
    single_logout_enabled: one.singleLogoutEnabled,
    oidc_discovery_url: one.oidcDiscoveryUrl,
    oidc_client_id: one.oidcClientId,
    oidc_scopes: one.oidcScopes,
    has_oidc_client_secret: one.oidcClientSecretSealed !== null,
    jit_provisioning_enabled: one.jitProvisioningEnabled,
    attribute_mapping: one.attributeMapping,
    last_login_at: one.lastLoginAt,
    last_login_failure_at: one.lastLoginFailureAt,
    consecutive_failures: one.consecutiveFailures,
    auto_disabled_at: one.autoDisabledAt,
    created_at: one.createdAt,
    updated_at: one.updatedAt,
  },
  default_role: defaultRole && { id: defaultRole.id, name: defaultRole.name },
  owned_by_organization: one.ownedByOrganization,
  service_provider: presentServiceProvider(serviceProvider),
});
