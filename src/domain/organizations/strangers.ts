import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Rights } from '../access/rights.js';
import { readingPeople, tiesInside } from '../access/strangers.js';
import type { Caller } from '../caller.js';
import { DomainError } from '../errors.js';

/** What managing an organization asks of a caller, at its node. */
export const managing = {
  permissions: ['hierarchy.manage', 'svc:organization.manage'],
  capability: 'env_organizations.manage',
} as const;

/** @throws DomainError identity.not_found */
export type AssertNoStranger = (scope: EnvironmentScope, caller: Caller, identityId: string) => Promise<void>;

/**
 * Who manages a part of an Environment makes members of those who belong to an organization in it already; others are invited, and
 * say themselves whether they come. Else whoever looks after one customer's organization learns the addresses of another's people by
 * their ids, and locks them out by its policy, which counts wherever they sign in. Who manages all organizations, or reads all people
 * anyway, takes whom they like.
 */
export const createStrangerGuard =
  ({ db, rights }: { db: Pick<Db, 'statement'>; rights: Rights }): AssertNoStranger =>
  async (scope, caller, identityId) => {
    const reach = await rights.reach(scope, caller, managing);
    if (reach === null) return;
    for (const asked of [managing, readingPeople]) {
      if ((await rights.holdsAt(scope, caller, asked, null)) === 'held') return;
    }
    const ties = await tiesInside(db, scope, caller, { identityIds: [identityId], reach });
    if (!ties.get(identityId)?.isMember) throw new DomainError('identity.not_found');
  };
