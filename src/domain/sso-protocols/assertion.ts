/** What a provider is told to know whose session of its own is to end: what it has said itself when that began. */
export type ProviderHandle =
  | {
      protocol: 'saml';
      /** SAML 2.0 Core §2.2.2. */
      nameId: { value: string; format: string; nameQualifier: string | null; spNameQualifier: string | null };
      sessionIndex: string | null;
    }
  | { protocol: 'oidc'; idToken: string };

/** What an identity provider says of a person, after everything that its protocol has us check. */
export interface Assertion {
  /** The provider: SAML's `Issuer`, or OpenID Connect's `iss`. */
  issuer: string;
  /** Its own lasting name for the person: SAML's NameID with its qualifiers, or OpenID Connect's `sub`. */
  subject: string;
  /** As the NameID, an attribute or a claim says it; nobody has looked yet whether the domain is the connection's. */
  email: string | null;
  /** OpenID Connect's `email_verified`; null where the provider does not say. */
  emailVerified: boolean | null;
  /** Everything that it sent, by name: what an attribute mapping picks from and the report of a test sign-in shows. */
  attributes: Readonly<Record<string, readonly string[]>>;
  /** RFC 8176, as the provider said or as its `AuthnContextClassRef` means. */
  amr: readonly string[];
  authenticatedAt: Date | null;
  /** SAML's `SessionIndex` (a transient NameID instead), or OpenID Connect's `sid`: which of its sessions a logout means. */
  sessionIndex: string | null;
  handle: ProviderHandle;
  /** Until when what begins by it may last (SAML's `SessionNotOnOrAfter`, give or take the skew of clocks); null where nothing is said of it. */
  sessionUntil: Date | null;
  /** What must not come a second time, and how long somebody could try; null where the protocol's own exchange sees to it. */
  once: { id: string; until: Date } | null;
}

/** Why an answer of an identity provider is not taken. Stable: they stand in events and reports of tests. */
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
  /** Nobody asked for it, and the connection takes no such answers, or they do not say for which application they are. */
  'idp_initiated_disabled',
  'relay_state_unknown',
  'expired',
  'not_yet_valid',
  'replayed',
  'status_not_success',
  'subject_missing',
  /** A new sign-in was asked for, or one of a certain age, and the provider does not say when it was. */
  'auth_time_missing',
  'nonce_mismatch',
  'state_mismatch',
  'provider_error',
  'provider_unreachable',
  /** The provider does not take our client id or secret. */
  'client_refused',
  'configuration_incomplete',
  'connection_disabled',
  'encryption_unsupported',
  'decryption_failed',
] as const;
export type SsoRefusal = (typeof ssoRefusals)[number];

/** An answer that is not taken. The message is for whoever looks after the connection, and holds nothing secret. */
export class SsoRefused extends Error {
  /** Whether it was the provider's answer to this request, by its signature: nobody else can have made it. */
  isSigned = false;

  constructor(
    readonly code: SsoRefusal,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
