import type { SsoConnection } from '../../../entities/sso-connection.js';
import { clockSkewMs, seconds } from '../../platform/clock.js';
import { unsaid } from '../sessions/first-factor.js';
import { proofLife } from '../sessions/own-proof.js';
import type { Assertion } from '../sso-protocols/assertion.js';
import type { TakenSsoRequest } from './requests.js';

/** What a request requires of the sign-in at the provider. */
export interface ProviderDemands {
  /** Whether the provider's own session is not enough. */
  anew: boolean;
  /** Seconds; null: any age. */
  maxAge: number | null;
}

/** Requires no more than the connection does. */
export const noDemands: ProviderDemands = { anew: false, maxAge: null };

/**
 * What an administrator's sign-in has to require to be valid for a change of factors. `anew` is the stricter part; an
 * age obliges the provider to say when the person signed in (OpenID Connect Core §3.1.2.1), without which the sign-in
 * would be of no use.
 */
export const freshAuthentication = { anew: true, maxAge: proofLife / 1000 } as const satisfies ProviderDemands;

/**
 * Returns when the provider authenticated the person, but no time in the future: the provider's clock may be ahead of
 * ours.
 */
export function provedAt({ authenticatedAt }: Pick<Assertion, 'authenticatedAt'>, now: Date): Date {
  if (authenticatedAt === null) return unsaid;
  return authenticatedAt < now ? authenticatedAt : now;
}

/**
 * Whether the sign-in at the provider is as recent as the connection and the request require (OpenID Connect Core
 * §3.1.2.1). The browser carried this requirement to the provider, and the person can have removed it, so only the time
 * that the provider states counts.
 */
export function isRecentEnough(
  { authenticatedAt }: Pick<Assertion, 'authenticatedAt'>,
  { anew, maxAge }: ProviderDemands,
  { forceAuthn }: Pick<SsoConnection, 'forceAuthn'>,
  { createdAt }: Pick<TakenSsoRequest, 'createdAt'>,
): boolean {
  // Many providers obey `prompt=login` but never send a time: for the client it is then unknown (`auth_time` 0).
  if (authenticatedAt === null) return !forceAuthn && maxAge === null;
  const isAnew = anew || forceAuthn;
  const sentAt = createdAt.getTime();
  const oldest = Math.max(isAnew ? sentAt : 0, maxAge === null ? 0 : sentAt - seconds(maxAge));
  return authenticatedAt.getTime() >= oldest - clockSkewMs; // providers say the second
}
