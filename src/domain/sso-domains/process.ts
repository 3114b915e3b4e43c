import type { EntityManager } from 'typeorm';
import { SsoDomain } from '../../../entities/sso-domain.js';
import type { ProcessInput } from '../../platform/process-kinds.js';
import type { EventAction } from '../events/catalogue.js';
import { recordEvent } from '../events/record.js';
import { startLater } from '../outbox.js';

/** Returns the input of a claim's process. */
export const ssoDomainInput = (
  { id, accountId, environmentId }: Pick<SsoDomain, 'id' | 'accountId' | 'environmentId'>,
  news?: ProcessInput<'ssoDomainVerification'>['news'],
): ProcessInput<'ssoDomainVerification'> => ({ claimId: id, accountId, environmentId, ...(news && { news }) });

type DomainEvent = Extract<EventAction, `sso.domain.${string}`>;

/**
 * Records what happened to a claim. Its domain is neither secret nor personal; the token and the claimant are left out.
 */
export async function recordDomainEvent(
  tx: EntityManager,
  action: DomainEvent,
  { id, accountId, environmentId, organizationId, domain }: SsoDomain,
  metadata: Record<string, unknown> = {},
): Promise<string> {
  return recordEvent(tx, action, {
    accountId,
    environmentId,
    resourceId: id,
    resourceLabel: domain,
    metadata: { domain, organization_id: organizationId, ...metadata },
  });
}

/**
 * Deletes a claim that the caller has locked, and ends its process: another claimant who has proved it can have it.
 */
export async function releaseClaim(tx: EntityManager, claim: SsoDomain): Promise<void> {
  await tx.delete(SsoDomain, { accountId: claim.accountId, id: claim.id });
  await recordDomainEvent(tx, 'sso.domain.deleted', claim, { previous_status: claim.status });
  await startLater(tx, 'ssoDomainVerification', ssoDomainInput(claim, 'released'));
}

/** Marks a claim as failed, in the caller's transaction: it is not looked up any more, and verifies nothing. */
export async function failClaim(
  tx: EntityManager,
  claim: SsoDomain,
  reason: NonNullable<SsoDomain['failureReason']>,
  at: Date,
): Promise<void> {
  const ended = {
    status: 'failed',
    failureReason: reason,
    failsAt: null,
    nextCheckAt: null,
    absentSince: null,
  } as const;
  await tx.update(SsoDomain, { id: claim.id }, { ...ended, endedAt: at });
  await recordDomainEvent(tx, 'sso.domain.failed', claim, { reason, previous_status: claim.status });
}

/** Makes a failed claim pending again, for as long as a new one, in the caller's transaction. Its token stays. */
export async function beginAnew(
  tx: EntityManager,
  { id }: Pick<SsoDomain, 'id'>,
  times: Pick<SsoDomain, 'startedAt' | 'failsAt' | 'nextCheckAt'>,
): Promise<void> {
  // Results of the earlier claim do not apply to this one.
  const looked = { verifiedAt: null, lastCheckedAt: null, lastFoundAt: null };
  const begun = { status: 'pending', failureReason: null, absentSince: null, endedAt: null, ...looked } as const;
  await tx.update(SsoDomain, { id, status: 'failed' }, { ...begun, ...times });
}
