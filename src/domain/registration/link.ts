import type { Sealing } from '../../platform/crypto/sealing.js';

interface Linked {
  id: string;
  tokenKeyId?: string;
}

/**
 * Returns the one-time token of a registration's link. It is derived from the master key, so it can be computed again
 * for the mail and the reminder, and is stored nowhere: the row has only its hash (docs/decisions/0004).
 */
export function registrationToken(sealing: Sealing, { id, tokenKeyId }: Linked): { token: string; keyId: string } {
  const { secret, keyId } = sealing.derive('registration-link', id, tokenKeyId);
  return { token: secret.toString('base64url'), keyId };
}

/** @param baseUrl origin of the service */
export const registrationLink = (baseUrl: string, token: string): string =>
  `${baseUrl}/v1/auth/verify-email?token=${token}`;
