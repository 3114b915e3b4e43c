import type { Sealing } from '../../platform/crypto/sealing.js';

interface Linked {
  id: string;
  /** A new number makes a new link, and the one before becomes invalid. */
  linkNumber: number;
  tokenKeyId?: string;
}

/** Returns the one-time token of an invite's link. It is derived, and stored nowhere (docs/decisions/0004). */
export function administratorInviteToken(
  sealing: Pick<Sealing, 'derive'>,
  { id, linkNumber, tokenKeyId }: Linked,
): { token: string; keyId: string } {
  const { secret, keyId } = sealing.derive('administrator-invite-link', `${id}/${linkNumber}`, tokenKeyId);
  return { token: secret.toString('base64url'), keyId };
}

/** @param baseUrl origin of the service */
export const administratorInviteLink = (baseUrl: string, token: string): string =>
  `${baseUrl}/v1/auth/accept-invite?token=${token}`;
