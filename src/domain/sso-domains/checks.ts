import type { EntityManager } from 'typeorm';
import { SsoDomain, type SsoDomainReason, type SsoDomainStatus } from '../../../entities/sso-domain.js';
import { after, type Clock, seconds } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import type { Dns } from '../../platform/dns.js';
import { domainLooks } from '../../platform/metrics/metrics.js';
import { createShares } from '../../platform/shares.js';
import { judgeAnswer, recordOf, type Seen } from './challenge.js';
import { lapseEmail } from './mails.js';
import { failClaim, recordDomainEvent } from './process.js';
import { hasRoom, lockClaims } from './room.js';
import { type DomainSchedule, hasLapsed, lifeOf, missedSince, nextLook, nextLookAtVerified } from './schedule.js';

export interface DomainChecksDeps {
  db: Db;
  dns: Dns;
  now: Clock;
  schedule: DomainSchedule;
  /** How many look-ups for one Account this process makes at once. */
  ofAccount?: number;
}

/** What the process of a claim does next: looks again at `nextCheckAt`, or ends if that is null. */
export interface DomainLook {
  /** `released`: the claim was deleted. */
  status: SsoDomainStatus | 'released';
  nextCheckAt: string | null;
}

export type DomainChecks = ReturnType<typeof createDomainChecks>;

const released: DomainLook = { status: 'released', nextCheckAt: null };

/** Checks whether the zones of claimed domains have their records, and updates the claims accordingly (contract §8). */
export function createDomainChecks({ db, dns, now, schedule, ofAccount = 25 }: DomainChecksDeps) {
  const shares = createShares(ofAccount);

  /** Changes a claim under the lock on its row. @param first takes locks that come before that one */
  const change = (
    id: string,
    work: (tx: EntityManager, claim: SsoDomain) => Promise<unknown>,
    first?: (tx: EntityManager) => Promise<unknown>,
  ): Promise<DomainLook> =>
    db.transaction('system', async (tx) => {
      await first?.(tx);
      const claim = await tx.findOne(SsoDomain, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (!claim) return released;
      await work(tx, claim);
      return lookOf(await tx.findOneByOrFail(SsoDomain, { id }));
    });

  return {
    /** Returns the claim's status without a look at the zone. */
    read: (id: string): Promise<DomainLook> => change(id, async () => {}),

    /**
     * Queries the zone now, outside of any transaction, and updates the row. Repeating it is harmless. Name servers
     * that do not respond take seconds, so an Account with many of them has to wait, but no other Account does.
     *
     * A failed claim stays failed unless a person who saw that end asks for the check. A process that looks by the
     * clock may not know yet that support has ended its claim, and a reset process repeats earlier requests.
     * @param endedAt the end of the claim (`endOf`) when a person asked for this check; null if it had not ended
     */
    async check(id: string, endedAt: string | null = null): Promise<DomainLook> {
      const claim = await db.transaction('system', (tx) => tx.findOneBy(SsoDomain, { id }));
      if (!claim) return released;
      if (!mayChange(claim, endedAt)) return lookOf(claim);
      if (shares.isFull(claim.accountId)) return change(id, (tx, current) => putOff(tx, current, now()));
      const { name, value } = recordOf(claim);
      const leave = shares.enter(claim.accountId);
      const seen = judgeAnswer(await dns.txt(name).finally(leave), value);
      domainLooks.inc({ outcome: seen.kind === 'found' ? 'found' : seen.reason });
      const follow = ({ heldByAnother }: { heldByAnother: boolean }) =>
        change(
          id,
          async (tx, current) => {
            if (!mayChange(current, endedAt)) return; // it has failed during the query
            await settle(tx, current, seen, { at: now(), schedule, heldByAnother });
          },
          async (tx) => claim.status === 'failed' && lockClaims(tx, claim.accountId),
        );
      // A unique index decides between two claims that are found at once; neither Account sees the other's rows.
      return follow({ heldByAnother: false }).catch((error: unknown) => {
        if (!isHeld(error)) throw error;
        return follow({ heldByAnother: true });
      });
    },

    /** Ends the claim for an operator's reason, unless it has failed already. Returns its status. */
    cancel: (id: string): Promise<DomainLook> =>
      change(id, async (tx, claim) => {
        if (claim.status !== 'failed') await failClaim(tx, claim, 'cancelled_by_operator', now());
      }),
  };
}

/** Returns when a claim has ended, in ISO 8601; null if it has not. */
export const endOf = ({ endedAt }: Pick<SsoDomain, 'endedAt'>): string | null => endedAt?.toISOString() ?? null;

/** Whether a check may change the claim: it has not failed, or a person who saw that end has asked for the check. */
const mayChange = (claim: Pick<SsoDomain, 'status' | 'endedAt'>, endedAt: string | null): boolean =>
  claim.status !== 'failed' || endOf(claim) === endedAt;

/** Postpones the look-up by a random 30 to 60 seconds, so that those that wait are not repeated all at once. */
const putOff = async (tx: EntityManager, claim: SsoDomain, at: Date): Promise<void> => {
  if (claim.nextCheckAt) await update(tx, claim, { nextCheckAt: after(at, seconds(30 + 30 * Math.random())) });
};

const isHeld = (error: unknown) =>
  violates(error, 'sso_domains_held_by_account') || violates(error, 'sso_domains_held_by_organization');

const lookOf = ({ status, nextCheckAt }: SsoDomain): DomainLook => ({
  status,
  nextCheckAt: nextCheckAt?.toISOString() ?? null,
});

interface Settling {
  at: Date;
  schedule: DomainSchedule;
  /** Whether the domain is verified for another claimant. */
  heldByAnother: boolean;
}

/** Updates the claim according to the result. */
async function settle(tx: EntityManager, claim: SsoDomain, seen: Seen, settling: Settling): Promise<void> {
  const { at, heldByAnother } = settling;
  const looked: Partial<SsoDomain> = { lastCheckedAt: at };
  if (seen.kind === 'found') {
    if (heldByAnother) return end(tx, claim, { ...looked, lastFoundAt: at }, reasonOfHolder(claim), at);
    return verify(tx, claim, looked, settling);
  }
  const { reason } = seen;
  const cachedMs = seen.kind === 'missed' ? seen.cachedMs : 0;
  if (claim.status === 'verified') return miss(tx, claim, looked, seen, settling);
  if (claim.status === 'failed' || (claim.failsAt && at >= claim.failsAt)) return end(tx, claim, looked, reason, at);
  const { schedule } = settling;
  const nextCheckAt =
    claim.status === 'pending'
      ? nextLook(claim, schedule, { now: at, cachedMs })
      : after(at, Math.max(cachedMs, schedule.recheckMs));
  await update(tx, claim, { ...looked, failureReason: reason, nextCheckAt });
}

/** Verifies a claim. A failed one becomes open again, which the quota has to allow; otherwise it stays as it is. */
async function verify(tx: EntityManager, claim: SsoDomain, looked: Partial<SsoDomain>, { at, schedule }: Settling) {
  if (claim.status === 'failed' && !(await hasRoom(tx, claim))) return;
  const isNew = claim.status !== 'verified';
  await update(tx, claim, {
    ...looked,
    status: 'verified',
    failureReason: null,
    absentSince: null,
    failsAt: null,
    endedAt: null,
    lastFoundAt: at,
    nextCheckAt: after(at, schedule.recheckMs),
    ...(isNew && { verifiedAt: at }),
  });
  if (isNew) await recordDomainEvent(tx, 'sso.domain.verified', claim, { previous_status: claim.status });
}

/** Handles a verified claim whose record was not found this time; it lapses when that lasts for too long. */
async function miss(
  tx: EntityManager,
  claim: SsoDomain,
  looked: Partial<SsoDomain>,
  seen: Exclude<Seen, { kind: 'found' }>,
  { at, schedule }: Settling,
) {
  const absentSince = missedSince(claim, schedule, { now: at, seen: seen.kind });
  const missed = { ...looked, absentSince, failureReason: seen.reason };
  if (!hasLapsed({ ...claim, absentSince }, schedule, { now: at, seen: seen.kind })) {
    const nextCheckAt = nextLookAtVerified({ absentSince }, schedule, { now: at, seen: seen.kind });
    return update(tx, claim, { ...missed, nextCheckAt });
  }
  const failsAt = after(at, lifeOf(schedule));
  await update(tx, claim, { ...missed, status: 'lapsed', failsAt, nextCheckAt: after(at, schedule.recheckMs) });
  const eventId = await recordDomainEvent(tx, 'sso.domain.lapsed', claim, { reason: seen.reason });
  await lapseEmail(tx, claim, { eventId, now: at });
}

/** Ends a claim, which is not looked up any more. If it had failed already, records only the result of this look-up. */
async function end(
  tx: EntityManager,
  claim: SsoDomain,
  looked: Partial<SsoDomain>,
  reason: SsoDomainReason,
  at: Date,
): Promise<void> {
  await update(tx, claim, { ...looked, failureReason: reason });
  if (claim.status !== 'failed') await failClaim(tx, claim, reason, at);
}

const reasonOfHolder = ({ organizationId }: SsoDomain): SsoDomainReason =>
  organizationId ? 'verified_by_another_organization' : 'verified_by_another_account';

const update = async (tx: EntityManager, { id }: SsoDomain, changes: Partial<SsoDomain>): Promise<void> =>
  void (await tx.update(SsoDomain, { id }, changes));
