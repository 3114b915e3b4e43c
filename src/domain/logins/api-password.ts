import { environmentScopeOf } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import type { OwnProofOf } from '../sessions/own-proof.js';
import type { ApiOwn } from './api-own.js';
import type { Logins } from './logins.js';

export interface ApiPasswordChange {
  currentPassword: string;
  newPassword: string;
}

/**
 * Changes the password of a signed-in person, by the current one. A person without a password has nothing to prove
 * here, and sets one by a mailed link.
 * @throws DomainError password.wrong, rate_limit.exceeded, password.breached, password.context_specific,
 *   validation.failed, auth.reauthentication_required; route.not_found if the Environment accepts no passwords
 */
export const createApiPassword =
  ({ own, logins }: { own: ApiOwn; logins: Pick<Logins, 'ownPassword'> }) =>
  async (subject: OwnProofOf, change: ApiPasswordChange): Promise<void> => {
    const { hasPassword, takesPasswords } = await own.assertStrong(subject);
    if (!takesPasswords) throw new DomainError('route.not_found');
    if (!hasPassword) throw new DomainError('password.wrong');
    const { identityId, sessionId } = subject;
    await logins.ownPassword(environmentScopeOf(subject), { identityId, sessionId, ...change });
  };
