import { errors } from 'jose';
import type { SsoRefusal } from '../assertion.js';

const kindsOfKey = [errors.JWSSignatureVerificationFailed, errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys];

/** Returns whether an error means that none of the keys has signed the token. */
export const isOfKey = (error: unknown): boolean => kindsOfKey.some((kind) => error instanceof kind);

/** Returns jose's objection to a token's signature or form; null for a fault, or a refusal from fetching the keys. */
export function refusalOfSignature(error: unknown): SsoRefusal | null {
  if (isOfKey(error)) return 'signature_invalid';
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported) return 'algorithm_refused';
  // A key of the provider that cannot be imported is a TypeError or a DOMException.
  const isOfForm = error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException;
  return isOfForm ? 'malformed' : null;
}
