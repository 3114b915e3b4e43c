import { compactVerify, errors, type JWTVerifyGetKey } from 'jose';
import type { KeySets } from '../../../platform/outbound/key-sets.js';
import { SsoRefused } from '../assertion.js';

const kindsOfKey = [errors.JWSSignatureVerificationFailed, errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys];

/** Whether what is wrong with a token is that none of the keys has signed it. */
export const isOfKey = (error: unknown): boolean => kindsOfKey.some((kind) => error instanceof kind);

/**
 * Checks the signature of an ID token that the provider's token endpoint has just answered; its claims are checked already. A provider may
 * have another key since a moment (OpenID Connect Core §10.1.1), or another one under the same name: none of the people who
 * come back meanwhile is refused for it.
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
  if (isOfKey(cause))
    return new SsoRefused('signature_invalid', 'The signature of the ID token is not by a key of the provider', {
      cause,
    });
  if (cause instanceof errors.JOSEAlgNotAllowed)
    return new SsoRefused('algorithm_refused', 'The ID token is not signed by an algorithm with a public key', {
      cause,
    });
  // A key of the provider that cannot be imported is a TypeError or a DOMException.
  if (cause instanceof errors.JOSEError || cause instanceof TypeError || cause instanceof DOMException)
    return new SsoRefused('malformed', 'The answer is not as OpenID Connect says', { cause });
  return cause;
}
