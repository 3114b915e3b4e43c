import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { Assertion, SsoRefusal } from '../sso-protocols/assertion.js';

/** The result of checking a provider's response: what it asserts, or why it is refused. */
export type SsoOutcome = { assertion: Assertion } | { refusal: RefusedAnswer };
export interface RefusedAnswer {
  code: SsoRefusal;
  message: string;
  /** Whether the refused answer was really the provider's. */
  isSigned?: boolean;
  /** The id of the request that brought it, which its event and its lines of the log have. */
  requestId?: string;
}

/** The context of a sealed response: the request that it answers. */
export const answerContext = (requestId: string): string => `sso-answer:${requestId}`;

/** As text, for sealing. */
export const writeOutcome = (outcome: SsoOutcome): string => JSON.stringify(outcome);

/** What `writeOutcome` wrote. */
export function readOutcome(text: string): SsoOutcome {
  const outcome: SsoOutcome = JSON.parse(text);
  if ('refusal' in outcome) return outcome;
  const { authenticatedAt, sessionUntil, once, ...rest } = outcome.assertion;
  return {
    assertion: {
      ...rest,
      authenticatedAt: authenticatedAt && new Date(authenticatedAt),
      sessionUntil: sessionUntil && new Date(sessionUntil),
      once: once && { ...once, until: new Date(once.until) },
    },
  };
}

/**
 * The hash of the session name in an answer, if no other session will ever have that name: in SAML it can be a small
 * number that comes again (SAML 2.0 Core §2.7.2).
 */
export function lastingNameIn(outcome: SsoOutcome): Buffer | null {
  if ('refusal' in outcome || outcome.assertion.handle.protocol !== 'oidc') return null;
  const { sessionIndex } = outcome.assertion;
  return sessionIndex === null ? null : hashSecret(sessionIndex);
}
