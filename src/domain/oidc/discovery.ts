import { aal1, aal2 } from '../sessions/first-factor.js';
import { assertionAlgorithms } from './clients/assertions.js';
import { clientAuthenticationMethods } from './clients/authentication.js';
import { scopes } from './scopes.js';
import { supportedClaims } from './tokens/claims.js';

/** The provider's metadata (OpenID Connect Discovery 3, RFC 8414 §2): nothing here that is not true. */
export function discoveryDocument(baseUrl: string) {
  const confidentialOnly = clientAuthenticationMethods.filter((method) => method !== 'none');
  return {
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}/oauth/authorize`,
    token_endpoint: `${baseUrl}/oauth/token`,
    userinfo_endpoint: `${baseUrl}/oauth/userinfo`,
    jwks_uri: `${baseUrl}/.well-known/jwks.json`,
    revocation_endpoint: `${baseUrl}/oauth/revoke`,
    introspection_endpoint: `${baseUrl}/oauth/introspect`,
    end_session_endpoint: `${baseUrl}/oauth/logout`,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'form_post'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    scopes_supported: scopes,
    claims_supported: supportedClaims,
    claim_types_supported: ['normal'],
    acr_values_supported: [aal1, aal2],
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
    display_values_supported: ['page'],
    ui_locales_supported: ['en', 'de'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: clientAuthenticationMethods,
    token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    revocation_endpoint_auth_methods_supported: clientAuthenticationMethods,
    revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    introspection_endpoint_auth_methods_supported: confidentialOnly,
    introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    authorization_response_iss_parameter_supported: true,
    claims_parameter_supported: false,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    require_request_uri_registration: false,
  };
}
