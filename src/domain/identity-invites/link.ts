import type { IdentityInvite } from '../../../entities/identity-invite.js';
import type { Sealing } from '../../platform/crypto/sealing.js';

type Linked = Pick<IdentityInvite, 'id' | 'linkNumber'> & { tokenKeyId?: string };

/**
 * Returns the one-time token of an invite's link. It is derived, so that it is stored nowhere (docs/decisions/0004).
 */
export function identityInviteToken(
  sealing: Pick<Sealing, 'derive'>,
  { id, linkNumber, tokenKeyId }: Linked,
): { token: string; keyId: string } {
  const { secret, keyId } = sealing.derive('identity-invite-link', `${id}/${linkNumber}`, tokenKeyId);
  return { token: secret.toString('base64url'), keyId };
}

/** @param baseUrl origin of the service */
export const identityInviteLink = (baseUrl: string, token: string): string => `${baseUrl}/oauth/invite?token=${token}`;
