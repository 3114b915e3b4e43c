import type { EntityManager } from 'typeorm';
import { plannedForItsValues } from '../../platform/database/prepared-texts.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { counterTotal, inactiveTotal } from '../lists/counters.js';

/** The numbers of an Environment's members, in all and by kind. */
export interface IdentitiesSummary {
  total: number;
  active: number;
  inactive: number;
  unverified: number;
  mfaEnrolled: number;
}

/**
 * The total and the inactive ones are kept as counts; each of the others is read from its own index or table, and
 * matched with the Environment's members. All are of the same moment.
 */
export async function identitiesSummary(tx: EntityManager, scope: EnvironmentScope): Promise<IdentitiesSummary> {
  const isHere = (id: string) =>
    `exists (select from environment_memberships m where m.environment_id = $2 and m.identity_id = ${id} and m.account_id = $1)`;
  const [counted] = await tx.query<IdentitiesSummary[]>(
    plannedForItsValues(`select total, total - inactive as active, inactive, unverified, "mfaEnrolled"
     from (select ${counterTotal('identities')}::int as total) t,
       (select ${inactiveTotal}::int as inactive) i,
       (select count(*)::int as unverified from identities p
        where account_id = $1 and email_verified_at is null and ${isHere('p.id')}) u,
       (select count(distinct identity_id)::int as "mfaEnrolled" from mfa_factors f
        where account_id = $1 and ${isHere('f.identity_id')}) f`),
    [scope.accountId, scope.environmentId],
  );
  return counted as IdentitiesSummary;
}
