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
