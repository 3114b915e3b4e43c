import type { Clock } from '../../platform/clock.js';
import type { ResealDeps } from '../../platform/crypto/reseal-column.js';
import { UnknownMasterKey } from '../../platform/crypto/sealing.js';
import { StartError } from '../../platform/start-error.js';
import { resealUserFactors } from '../admin-mfa/reseal.js';
import { resealFactors } from '../mfa/reseal.js';
import { createSigningKeys } from '../oidc/keys.js';
import { resealConnections } from '../sso-connections/reseal.js';
import { createSsoSigningKeys } from '../sso-protocols/signing-keys.js';
import { resealProviderSessions } from '../sso-sign-in/provider-sessions.js';
import { resealWebhooks } from '../webhooks/reseal.js';
import { isMasterKeyUsed, wrongMasterKeys } from './required.js';

/** What stays sealed without a time limit, with its name for operators. */
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
 * Encrypts with the first master key what other keys have sealed, a few hundred rows per transaction, while the service
 * runs. Safe to repeat.
 * @returns the number of rows of each kind
 * @throws StartError if the keys are not those of the database, or if the service does not use the first one: what is
 *   encrypted with a key that nobody else has would be lost with the shell in which the key was typed
 */
export async function reencrypt(deps: ResealDeps & { now: Clock }): Promise<[what: string, count: number][]> {
  const reason =
    (await wrongMasterKeys(deps)) ?? ((await isMasterKeyUsed(deps)) ? null : unused(deps.sealing.currentId));
  if (reason) throw new StartError(reason);
  const counts: [string, number][] = [];
  for (const [what, reseal] of all) counts.push([what, await reseal(deps).catch(missing(what))]);
  return counts;
}

const unused = (id: string) =>
  `no api or worker has begun with ${id} as its first key: put it first in MASTER_KEYS of all of them, and run this again`;

const missing = (what: string) => (error: unknown) => {
  if (!(error instanceof UnknownMasterKey)) throw error;
  const { keyId } = error;
  throw new StartError(`MASTER_KEYS has no key ${keyId}, with which ${what} are encrypted: add it, and run this again`);
};
