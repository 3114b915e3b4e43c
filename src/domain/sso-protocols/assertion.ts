/** What identifies a provider's own session when we ask it to end that one: what it said when the session began. */
export type ProviderHandle =
  | {
      protocol: 'saml';
      /** SAML 2.0 Core §2.2.2. */
      nameId: { value: string; format: string; nameQualifier: string | null; spNameQualifier: string | null };
      sessionIndex: string | null;
    }
  | { protocol: 'oidc'; idToken: string };

/** What an identity provider says about a person, after all checks that its protocol requires. */
export interface Assertion {
  /** The provider: SAML's `Issuer`, or OpenID Connect's `iss`. */
  issuer: string;
  /** Its own persistent name for the person: SAML's NameID with its qualifiers, or OpenID Connect's `sub`. */
  subject: string;
  /** From the NameID, an attribute or a claim; whether the domain is the connection's has not been checked yet. */
  email: string | null;
  /** OpenID Connect's `email_verified`; null if the provider does not say. */
  emailVerified: boolean | null;
  /** Everything that it sent, by name, for attribute mappings and for the report of a test sign-in. */
  attributes: Readonly<Record<string, readonly string[]>>;
  /** RFC 8176 values, as the provider sent them or as its `AuthnContextClassRef` implies. */
  amr: readonly string[];
  authenticatedAt: Date | null;
  /** SAML's `SessionIndex` (or a transient NameID), or OpenID Connect's `sid`: identifies the session in a logout. */
  sessionIndex: string | null;
  handle: ProviderHandle;
  /** Until when our session may last (SAML's `SessionNotOnOrAfter`, with the clock skew); null if not said. */
  sessionUntil: Date | null;
  /** The id that must not be used twice, and until when it could be; null if the protocol's exchange prevents it. */
  once: { id: string; until: Date } | null;
}

/** Why an identity provider's response is refused. The codes are stable: events and reports of tests contain them. */
export const ssoRefusals = [
  'malformed',
  'too_large',
  'unsigned',
  'signature_invalid',
  'algorithm_refused',
  'issuer_mismatch',
  'audience_mismatch',
  'recipient_mismatch',
  'destination_mismatch',
  'in_response_to_mismatch',
  /** It is unsolicited, and the connection accepts no such responses, or it does not name the application. */
  'idp_initiated_disabled',
  'relay_state_unknown',
  'expired',
  'not_yet_valid',
  'replayed',
  'status_not_success',
  'subject_missing',
  /** A new sign-in, or one of limited age, was requested, and the provider does not say when it took place. */
  'auth_time_missing',
  'nonce_mismatch',
  'state_mismatch',
  'provider_error',
  'provider_unreachable',
  /** The provider does not accept our client id or secret. */
  'client_refused',
  'configuration_incomplete',
  'connection_disabled',
  'encryption_unsupported',
  'decryption_failed',
] as const;
export type SsoRefusal = (typeof ssoRefusals)[number];

/** A response that is refused. The message is for the people who manage the connection, and holds nothing secret. */
export class SsoRefused extends Error {
  /** Whether a signature proves that it is the provider's own response to this request. */
  isSigned = false;

  constructor(
    readonly code: SsoRefusal,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
