import type { EntityManager } from 'typeorm';
import type { AccountScope } from '../../platform/scope.js';
import { isOwner } from '../capabilities/owners.js';
import { DomainError } from '../errors.js';
import { aal2 } from '../sessions/first-factor.js';

/** The administrator who decides what an Account requires of a sign-in, and their session. */
export interface DecidingAdmin {
  userId: string;
  sessionId: string;
}

/**
 * Checks that the caller may change whether all administrators need a second factor: only an Owner may, and to require
 * one they must have proved their own in this session, so that nobody locks themselves out.
 * @param tx has the scope `system` and has locked the Account, so that an Owner stays an Owner until it ends
 * @throws DomainError account.owner_required, mfa.not_enrolled, mfa.challenge_required
 */
export async function assertMayRequireMfa(
  tx: EntityManager,
  { accountId }: AccountScope,
  { sessionId, userId }: DecidingAdmin,
  isToBeRequired: boolean,
): Promise<void> {
  const [found] = await tx.query<{ acr: string; hasFactor: boolean; isOwner: boolean }[]>(
    `select s.acr, exists (select from user_mfa_factors f where f.user_id = s.user_id) as "hasFactor",
       exists (select from memberships m where m.account_id = $3 and m.user_id = s.user_id and ${isOwner('m')}) as "isOwner"
     from user_sessions s where s.id = $1 and s.user_id = $2`,
    [sessionId, userId, accountId],
  );
  if (!found?.isOwner) throw new DomainError('account.owner_required');
  if (!isToBeRequired || found.acr === aal2) return;
  throw new DomainError(found.hasFactor ? 'mfa.challenge_required' : 'mfa.not_enrolled');
}
