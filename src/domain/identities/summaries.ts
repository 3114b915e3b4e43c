import type { EntityManager } from 'typeorm';
import type { MfaFactor } from '../../../entities/mfa-factor.js';
import type { Db, Statement } from '../../platform/db.js';
import { counterTotal } from '../counters.js';
import { DomainError } from '../errors.js';
import type { EnvironmentScope } from '../scope.js';

/** How many members an Environment has, and of what kind. */
export interface IdentitiesSummary {
  total: number;
  active: number;
  inactive: number;
  unverified: number;
  mfaEnrolled: number;
}

/** The total is kept; of the others each reads its own index or table, and looks up who is in the Environment. Of one moment. */
export async function summaryOf(tx: EntityManager, scope: EnvironmentScope): Promise<IdentitiesSummary> {
  const isHere = (id: string) =>
    `exists (select from environment_memberships m where m.environment_id = $2 and m.identity_id = ${id} and m.account_id = $1)`;
  const [counted] = await tx.query<IdentitiesSummary[]>(
    `select total, total - inactive as active, inactive, unverified, "mfaEnrolled"
     from (select ${counterTotal('identities')}::int as total) t,
       (select count(*)::int as inactive from environment_memberships
        where account_id = $1 and environment_id = $2 and not is_active) i,
       (select count(*)::int as unverified from identities p
        where account_id = $1 and email_verified_at is null and ${isHere('p.id')}) u,
       (select count(distinct identity_id)::int as "mfaEnrolled" from mfa_factors f
        where account_id = $1 and ${isHere('f.identity_id')}) f`,
    [scope.accountId, scope.environmentId],
  );
  return counted as IdentitiesSummary;
}

/** What is enrolled of second factors, without anything secret (specification, "MFA enrollment summary"). */
export interface MfaSummary {
  factors: Pick<MfaFactor, 'id' | 'type' | 'label' | 'enrolledAt' | 'lastUsedAt'>[];
  recoveryCodesGeneration: number;
  recoveryCodesRemaining: number;
  mfaAdminResetAt: Date | null;
}

/** With a row for each factor, or one row without. */
const mfaStatement: Statement = {
  name: 'mfa_of_member',
  text: `
select f.id, f.type, f.label, f.enrolled_at as "enrolledAt", f.last_used_at as "lastUsedAt",
  i.recovery_codes_generation as "recoveryCodesGeneration", i.mfa_admin_reset_at as "mfaAdminResetAt",
  (select count(*)::int from recovery_codes c where c.identity_id = $3 and (c.account_id = $1) is true
    and c.generation = i.recovery_codes_generation and c.used_at is null) as "recoveryCodesRemaining"
from environment_memberships m cross join lateral (select * from identities where id = m.identity_id offset 0) i
  left join mfa_factors f on f.identity_id = $3 and (f.account_id = $1) is true
where m.environment_id = $2 and m.identity_id = $3 and (m.account_id = $1) is true
order by f.enrolled_at, f.id`,
};
type MfaRow = Omit<MfaSummary, 'factors'> & MfaSummary['factors'][number];

/** One set for all Environments of the Account. @throws DomainError identity.not_found */
export async function mfaOf(db: Pick<Db, 'statementIn'>, scope: EnvironmentScope, id: string): Promise<MfaSummary> {
  const values = [scope.accountId, scope.environmentId, id];
  const rows = await db.statementIn<MfaRow>(scope, mfaStatement, values);
  const [first] = rows;
  if (!first) throw new DomainError('identity.not_found');
  const { recoveryCodesGeneration, recoveryCodesRemaining, mfaAdminResetAt } = first;
  const factors = rows.filter(({ id }) => id !== null);
  return { factors, recoveryCodesGeneration, recoveryCodesRemaining, mfaAdminResetAt };
}
