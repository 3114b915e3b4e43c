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
import { hasRoom, takeTurns } from './room.js';
import { type DomainSchedule, hasLapsed, lifeOf, missedSince, nextLook, nextLookAtVerified } from './schedule.js';

export interface DomainChecksDeps {
  db: Db;
  dns: Dns;
  now: Clock;
  schedule: DomainSchedule;
  /** Looks of one Account that this process makes at once. */
  ofAccount?: number;
}

/** What the process of a claim does next: looks again at `nextCheckAt`, or ends. */
export interface DomainLook {
  /** `released`: the claim is gone. */
  status: SsoDomainStatus | 'released';
  nextCheckAt: string | null;
}

export type DomainChecks = ReturnType<typeof createDomainChecks>;

const released: DomainLook = { status: 'released', nextCheckAt: null };

/** Looks whether the zones of claimed domains have their records, and lets the rows follow (contract §8). */
export function createDomainChecks({ db, dns, now, schedule, ofAccount = 25 }: DomainChecksDeps) {
  const shares = createShares(ofAccount);

  /** Under the lock on its row, which is what is changed. @param first what is locked before it */
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
    /** Where the claim stands, without a look at the zone. */
    read: (id: string): Promise<DomainLook> => change(id, async () => {}),

    /**
     * Asks the zone now, outside of any transaction, and has the row follow. Repeating it is harmless. Servers that keep silent
     * take seconds: an Account that has many of them waits for its own, and nobody else does.
     */
    async check(id: string): Promise<DomainLook> {
      const claim = await db.transaction('system', (tx) => tx.findOneBy(SsoDomain, { id }));
      if (!claim) return released;
      if (shares.isFull(claim.accountId)) return change(id, (tx, current) => putOff(tx, current, now()));
      const { name, value } = recordOf(claim);
      const leave = shares.enter(claim.accountId);
      const seen = judgeAnswer(await dns.txt(name).finally(leave), value);
      domainLooks.inc({ outcome: seen.kind === 'found' ? 'found' : seen.reason });
      const wasFailed = claim.status === 'failed';
      const follow = ({ heldByAnother }: { heldByAnother: boolean }) =>
        change(
          id,
          async (tx, current) => {
            // One that was ended while the zone was asked stays so, until somebody claims it anew or has it looked at.
            if (current.status === 'failed' && !wasFailed) return;
            await settle(tx, current, seen, { at: now(), schedule, heldByAnother });
          },
          async (tx) => wasFailed && takeTurns(tx, claim.accountId),
        );
      // Two that are found at once are told apart by an index, and nobody sees the rows of another Account.
      return follow({ heldByAnother: false }).catch((error: unknown) => {
        if (!isHeld(error)) throw error;
        return follow({ heldByAnother: true });
      });
    },

    /** Ends it for an operator's reason; of one that has ended, only how. */
    cancel: (id: string): Promise<DomainLook> =>
      change(id, async (tx, claim) => {
        if (claim.status !== 'failed') await failClaim(tx, claim, 'cancelled_by_operator', now());
      }),
  };
}

/** Some other time soon, and not all that wait at once. */
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
  /** The domain is verified for somebody else. */
  heldByAnother: boolean;
}

/** Has the row follow what was seen. */
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

/** One that had failed is one more of those that are open: where there is no room for it, it stays as it is. */
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

/** A verified one was not found this time; it lapses when that has gone on for too long. */
async function miss(
  tx: EntityManager,
  claim: SsoDomain,
  looked: Partial<SsoDomain>,
  seen: Exclude<Seen, { kind: 'found' }>,
  { at, schedule }: Settling,
) {
  const absentSince = missedSince(claim, schedule, { now: at, seen: seen.kind });
  const missed = { ...looked, absentSince, failureReason: seen.reason };
  if (!hasLapsed({ ...claim, absentSince }, schedule, at)) {
    const nextCheckAt = nextLookAtVerified({ absentSince }, schedule, { now: at, seen: seen.kind });
    return update(tx, claim, { ...missed, nextCheckAt });
  }
  const failsAt = after(at, lifeOf(schedule));
  await update(tx, claim, { ...missed, status: 'lapsed', failsAt, nextCheckAt: after(at, schedule.recheckMs) });
  const eventId = await recordDomainEvent(tx, 'sso.domain.lapsed', claim, { reason: seen.reason });
  await lapseEmail(tx, claim, { eventId, now: at });
}

/** Nobody looks for it any more. One that had ended already says only how the latest look was. */
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
