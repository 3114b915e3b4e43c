import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { readingPeople, tiesInside } from '../access/assignments/strangers.js';
import type { Rights } from '../access/rights.js';
import type { Caller } from '../caller.js';
import { DomainError } from '../errors.js';

/** What a caller needs at an organization's node to manage it. */
export const managing = {
  permissions: ['hierarchy.manage', 'svc:organization.manage'],
  capability: 'env_organizations.manage',
} as const;

/** @throws DomainError identity.not_found */
export type AssertNoStranger = (scope: EnvironmentScope, caller: Caller, identityId: string) => Promise<void>;

/**
 * Checks whom a caller may add to an organization. Somebody who manages a part of an Environment may only add people
 * who belong to an organization in that part already; others are invited, and decide themselves. Otherwise the manager
 * of one customer's organization could learn the addresses of another's people by their ids, and lock them out by its
 * policy, which counts wherever they sign in. Somebody who manages all organizations, or may read all people anyway,
 * may add anybody.
 */
export const createStrangerGuard =
  ({ db, rights }: { db: Pick<Db, 'statement'>; rights: Rights }): AssertNoStranger =>
  async (scope, caller, identityId) => {
    const reach = await rights.reach(scope, caller, managing);
    if (reach === null) return;
    if ((await rights.holdsAt(scope, caller, managing, null)) === 'held') return;
    if (await rights.holdsEverywhere(scope, caller, readingPeople)) return;
    const ties = await tiesInside(db, scope, caller, { identityIds: [identityId], reach });
    if (!ties.get(identityId)?.isMember) throw new DomainError('identity.not_found');
  };
