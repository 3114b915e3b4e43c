import { compactVerify, type JWTVerifyGetKey } from 'jose';
import type { KeySets } from '../../../platform/outbound/key-sets.js';
import { refused } from './refusals.js';
import { isOfKey, refusalOfSignature } from './signature-refusals.js';

/**
 * Checks the signature of an ID token that the provider's token endpoint has just returned; its claims are checked
 * already. If the provider has just changed its key (OpenID Connect Core §10.1.1), even under the same name, newer keys
 * are fetched, so that none of the people who return meanwhile is refused.
 * @throws SsoRefused
 */
export async function assertSignedBy(
  { keys, newer }: Awaited<ReturnType<KeySets['ofJustNow']>>,
  idToken: string,
  algorithms: readonly string[],
): Promise<void> {
  const check = (by: JWTVerifyGetKey) => compactVerify(idToken, by, { algorithms: [...algorithms] });
  try {
    await check(keys).catch(async (error: unknown) => {
      if (!isOfKey(error)) throw error;
      await check(await newer());
    });
  } catch (error) {
    throw refusalOf(error);
  }
}

function refusalOf(cause: unknown): unknown {
  const code = refusalOfSignature(cause);
  return code === null ? cause : refused(code, cause);
}
