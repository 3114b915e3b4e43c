import type { EntityManager } from 'typeorm';
import type { AccountScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { aal2 } from '../sessions/first-factor.js';

/** Who decides whether an Account requires a second factor, and in which session. */
export interface DecidingAdmin {
  userId: string;
  sessionId: string;
}

/**
 * Only an Owner says whether all administrators need a second factor, and whoever begins to require one has shown theirs:
 * nobody locks themselves out.
 * @param tx sees everything (`system`) and holds the Account, so that who is an Owner stays so until it is over
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
       exists (select from memberships m
         join membership_roles mr on mr.membership_id = m.id join administrator_roles r on r.id = mr.role_id
         where m.account_id = $3 and m.user_id = s.user_id and r.system_key = 'owner' and mr.limits is null) as "isOwner"
     from user_sessions s where s.id = $1 and s.user_id = $2`,
    [sessionId, userId, accountId],
  );
  if (!found?.isOwner) throw new DomainError('account.owner_required');
  if (!isToBeRequired || found.acr === aal2) return;
  throw new DomainError(found.hasFactor ? 'mfa.challenge_required' : 'mfa.not_enrolled');
}
