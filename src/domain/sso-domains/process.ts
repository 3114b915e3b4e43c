import type { EntityManager } from 'typeorm';
import { SsoDomain } from '../../../entities/sso-domain.js';
import type { ProcessInput } from '../../platform/process-kinds.js';
import type { EventAction } from '../events/catalogue.js';
import { recordEvent } from '../events/record.js';
import { startLater } from '../outbox.js';

/** What the process of a claim is told. */
export const ssoDomainInput = (
  { id, accountId, environmentId }: Pick<SsoDomain, 'id' | 'accountId' | 'environmentId'>,
  news?: ProcessInput<'ssoDomainVerification'>['news'],
): ProcessInput<'ssoDomainVerification'> => ({ claimId: id, accountId, environmentId, ...(news && { news }) });

type DomainEvent = Extract<EventAction, `sso.domain.${string}`>;

/** Writes what happened to a claim. Its domain is no secret and no person: the token and who claimed are left out. */
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

/** Gives up a claim that the caller holds: whoever else has proved the domain can have it, and its process ends. */
export async function releaseClaim(tx: EntityManager, claim: SsoDomain): Promise<void> {
  await tx.delete(SsoDomain, { accountId: claim.accountId, id: claim.id });
  await recordDomainEvent(tx, 'sso.domain.deleted', claim, { previous_status: claim.status });
  await startLater(tx, 'ssoDomainVerification', ssoDomainInput(claim, 'released'));
}

/** Ends a claim for an operator's reason, in the caller's transaction: nobody looks for it, and it verifies nothing any more. */
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

/** Has a failed claim looked for anew, in the caller's transaction, as long as a new one. Its token stays. */
export async function beginAnew(
  tx: EntityManager,
  { id }: Pick<SsoDomain, 'id'>,
  times: Pick<SsoDomain, 'startedAt' | 'failsAt' | 'nextCheckAt'>,
): Promise<void> {
  const looked = { verifiedAt: null, lastCheckedAt: null, lastFoundAt: null }; // of the claim before: nothing was found for this one yet
  const begun = { status: 'pending', failureReason: null, absentSince: null, endedAt: null, ...looked } as const;
  await tx.update(SsoDomain, { id, status: 'failed' }, { ...begun, ...times });
}
