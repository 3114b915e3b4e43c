import type { MfaFactor } from '../../../entities/mfa-factor.js';
import type { RunsStatement, Statement } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';

/** The enrolled second factors, without secrets (specification, "MFA enrollment summary"). */
export interface MfaSummary {
  factors: Pick<MfaFactor, 'id' | 'type' | 'label' | 'signsIn' | 'enrolledAt' | 'lastUsedAt'>[];
  recoveryCodesGeneration: number;
  recoveryCodesRemaining: number;
  mfaAdminResetAt: Date | null;
}

/** One row for each factor, or a single row without one. */
const mfaStatement: Statement = {
  name: 'mfa_of_member',
  text: `
select f.id, f.type, f.label, f.signs_in as "signsIn", f.enrolled_at as "enrolledAt", f.last_used_at as "lastUsedAt",
  i.recovery_codes_generation as "recoveryCodesGeneration", i.mfa_admin_reset_at as "mfaAdminResetAt",
  (select count(*)::int from recovery_codes c where c.identity_id = $3 and (c.account_id = $1) is true
    and c.generation = i.recovery_codes_generation and c.used_at is null) as "recoveryCodesRemaining"
from environment_memberships m cross join lateral (select * from identities where id = m.identity_id offset 0) i
  left join mfa_factors f on f.identity_id = $3 and (f.account_id = $1) is true
where m.environment_id = $2 and m.identity_id = $3 and (m.account_id = $1) is true
order by f.enrolled_at, f.id`,
};
type MfaRow = Omit<MfaSummary, 'factors'> & MfaSummary['factors'][number];

/** Factors are one set for all Environments of the Account. @throws DomainError identity.not_found */
export async function mfaOf(run: RunsStatement, scope: EnvironmentScope, id: string): Promise<MfaSummary> {
  const rows = await run<MfaRow>(mfaStatement, [scope.accountId, scope.environmentId, id]);
  const [first] = rows;
  if (!first) throw new DomainError('identity.not_found');
  const { recoveryCodesGeneration, recoveryCodesRemaining, mfaAdminResetAt } = first;
  const factors = rows.filter(({ id }) => id !== null);
  return { factors, recoveryCodesGeneration, recoveryCodesRemaining, mfaAdminResetAt };
}
