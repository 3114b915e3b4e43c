import type { Clock } from '../../platform/clock.js';
import type { ResealDeps } from '../../platform/crypto/reseal-column.js';
import { resealUserFactors } from '../admin-mfa/reseal.js';
import { resealFactors } from '../mfa/reseal.js';
import { createSigningKeys } from '../oidc/keys.js';
import { resealConnections } from '../sso-connections/reseal.js';
import { createSsoSigningKeys } from '../sso-protocols/signing-keys.js';
import { resealProviderSessions } from '../sso-sign-in/provider-sessions.js';
import { resealWebhooks } from '../webhooks/reseal.js';

/** What stays sealed for longer than a while, by what a person calls it. */
const all: [what: string, reseal: (deps: ResealDeps & { now: Clock }) => Promise<number>][] = [
  ['signing keys', (deps) => createSigningKeys({ ...deps, issuer: '' }).reseal()],
  ['keys of SSO connections', (deps) => createSsoSigningKeys(deps).reseal()],
  ['client secrets of SSO connections', resealConnections],
  ['sessions at identity providers', resealProviderSessions],
  ['authenticator secrets of end users', resealFactors],
  ['authenticator secrets of administrators', resealUserFactors],
  ['webhook secrets', resealWebhooks],
];

/**
 * Encrypts with the first master key what others have sealed, a few hundred rows in each transaction, while the service is at work.
 * Harmless to repeat. @returns how many of what
 */
export async function reencrypt(deps: ResealDeps & { now: Clock }): Promise<[what: string, count: number][]> {
  const counts: [string, number][] = [];
  for (const [what, reseal] of all) counts.push([what, await reseal(deps)]);
  return counts;
}
