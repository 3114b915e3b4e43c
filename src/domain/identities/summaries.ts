import type { EntityManager } from 'typeorm';
import { MfaFactor } from '../../../entities/mfa-factor.js';
import { within } from '../../platform/db.js';
import { readCounter } from '../counters.js';
import type { EnvironmentScope } from '../scope.js';
import { findMember } from './find.js';

/** How many members an Environment has, and of what kind. */
export interface IdentitiesSummary {
  total: number;
  active: number;
  inactive: number;
  unverified: number;
  mfaEnrolled: number;
}

/** The total is kept; the others are counted, in one pass. */
export async function summaryOf(tx: EntityManager, scope: EnvironmentScope): Promise<IdentitiesSummary> {
  const [counted] = await tx.query<Omit<IdentitiesSummary, 'total'>[]>(
    `select count(*) filter (where m.is_active)::int as active, count(*) filter (where not m.is_active)::int as inactive,
       count(*) filter (where i.email_verified_at is null)::int as unverified,
       count(*) filter (where f.identity_id is not null)::int as "mfaEnrolled"
     from environment_memberships m join identities i on i.id = m.identity_id
       left join (select distinct identity_id from mfa_factors where account_id = $1) f on f.identity_id = m.identity_id
     where m.account_id = $1 and m.environment_id = $2`,
    [scope.accountId, scope.environmentId],
  );
  const total = await readCounter(tx, scope, 'identities');
  return { total, ...(counted as Omit<IdentitiesSummary, 'total'>) };
}

/** What is enrolled of second factors, without anything secret (specification, "MFA enrollment summary"). */
export interface MfaSummary {
  factors: Pick<MfaFactor, 'id' | 'type' | 'label' | 'enrolledAt' | 'lastUsedAt'>[];
  recoveryCodesGeneration: number;
  recoveryCodesRemaining: number;
  mfaAdminResetAt: Date | null;
}

/** One set for all Environments of the Account; so in its scope. @throws DomainError identity.not_found */
export async function mfaOf(tx: EntityManager, scope: EnvironmentScope, id: string): Promise<MfaSummary> {
  const { identity } = await findMember(tx, scope, id);
  const { accountId } = within(scope);
  const factors = await tx.find(MfaFactor, {
    where: { accountId, identityId: id },
    select: { id: true, type: true, label: true, enrolledAt: true, lastUsedAt: true },
    order: { enrolledAt: 'ASC', id: 'ASC' },
  });
  const [row] = await tx.query<{ remaining: number }[]>(
    `select count(*)::int as remaining from recovery_codes
     where account_id = $1 and identity_id = $2 and generation = $3 and used_at is null`,
    [accountId, id, identity.recoveryCodesGeneration],
  );
  return {
    factors,
    recoveryCodesGeneration: identity.recoveryCodesGeneration,
    recoveryCodesRemaining: row!.remaining,
    mfaAdminResetAt: identity.mfaAdminResetAt,
  };
}
