/** RFC 6749 §4.1.2.1 and §5.2, OpenID Connect Core 3.1.2.6, RFC 6750 §3.1, RFC 7009 §2.2.1. */
export type OAuthErrorCode =
  | 'access_denied'
  | 'consent_required'
  | 'insufficient_scope'
  | 'interaction_required'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_request'
  | 'invalid_scope'
  | 'invalid_token'
  | 'login_required'
  | 'registration_not_supported'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'server_error'
  | 'temporarily_unavailable'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'unsupported_token_type';

/** A refusal in the protocol's terms. The description is for developers: in English, and without secrets. */
export class OAuthError extends Error {
  constructor(
    readonly code: OAuthErrorCode,
    description: string,
  ) {
    super(description);
  }
}

/** One answer for every client that cannot be authenticated, whatever was wrong. */
export const clientRefused = (): OAuthError => new OAuthError('invalid_client', 'client authentication failed');
