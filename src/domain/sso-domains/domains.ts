import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { SsoDomain, type SsoDomainStatus } from '../../../entities/sso-domain.js';
import type { Clock } from '../../platform/clock.js';
import { type Db, within } from '../../platform/database/db.js';
import { workflowIdOf } from '../../platform/process-kinds.js';
import type { AccountScope, EnvironmentScope } from '../../platform/scope.js';
import { actorOf, type Caller } from '../caller.js';
import { DomainError } from '../errors.js';
import { lockAccount } from '../existing-account.js';
import { containing, type Page, type PageRequest, readPage } from '../lists/paging.js';
import { findOrganization } from '../organizations/find.js';
import { lockOrganization } from '../organizations/members.js';
import { startLater } from '../outbox.js';
import type { RunningProcesses } from '../running-processes.js';
import { waitUntilStopped } from '../wait-until-stopped.js';
import { newToken } from './challenge.js';
import { type DomainChecks, type DomainLook, endOf } from './checks.js';
import { claimableDomain, domainIn } from './domain-name.js';
import { beginAnew, recordDomainEvent, releaseClaim, ssoDomainInput } from './process.js';
import { assertRoom, lockClaims } from './room.js';
import { type DomainSchedule, timesFrom } from './schedule.js';

export interface SsoDomainsDeps {
  db: Db;
  now: Clock;
  schedule: DomainSchedule;
  checks: Pick<DomainChecks, 'check'>;
  processes: Pick<RunningProcesses, 'describe'> & {
    /**
     * Has the claim's process look now. `endedAt` is the end that the caller has seen (`endOf`).
     * @throws DomainError service.unavailable, quickly: the caller can look instead
     */
    checkDomain(input: ReturnType<typeof ssoDomainInput>, endedAt: string | null): Promise<DomainLook>;
  };
}

/** The owner of claims: the Account itself, or an organization of an Environment. */
export type Claimant =
  | { scope: AccountScope; organizationId: null }
  | { scope: EnvironmentScope; organizationId: string };

export type SsoDomainSort = 'created_at' | 'domain';
export interface SsoDomainsPage extends PageRequest<SsoDomainSort> {
  status?: SsoDomainStatus | undefined;
}

const columns: Record<SsoDomainSort, string[]> = {
  created_at: ['claim.createdAt', 'claim.id'],
  domain: ['claim.domain', 'claim.id'],
};

export type SsoDomains = ReturnType<typeof createSsoDomains>;

/** Creates, reads, verifies and deletes claims of domains (specification, "SSO domain claim"). */
export function createSsoDomains({ db, now, schedule, checks, processes }: SsoDomainsDeps) {
  /** Waits until the process of a failed claim has stopped, before the claim begins again. */
  const letFailedStop = async (claim: SsoDomain): Promise<void> => {
    if (claim.status !== 'failed') return;
    const wasCancelled = claim.failureReason === 'cancelled_by_operator';
    await waitUntilStopped(processes, {
      workflowId: workflowIdOf('ssoDomainVerification', ssoDomainInput(claim)),
      wasCancelled,
    });
  };
  return {
    /** @throws DomainError organization.not_found */
    list: (of: Claimant, { status, q, ...page }: SsoDomainsPage): Promise<Page<SsoDomain>> =>
      db.transaction(of.scope, async (tx) => {
        await assertThere(tx, of);
        const query = claimsOf(tx, of);
        if (status) query.andWhere('claim.status = :status', { status });
        if (q) query.andWhere('claim.domain like :pattern', { pattern: containing(q.toLowerCase()) });
        return readPage(query, page, columns[page.sortBy]);
      }),

    /** @throws DomainError organization.not_found, sso_domain.not_found */
    get: (of: Claimant, domain: string): Promise<SsoDomain> => db.transaction(of.scope, (tx) => find(tx, of, domain)),

    /**
     * Claims a domain. A claimant who has claimed it before gets the same claim with the same token; a failed claim
     * begins again.
     * @param text a host, or a URL with one
     * @throws DomainError sso_domain.malformed, sso_domain.public_suffix, sso_domain.public_provider,
     *   sso_domain.limit_reached, organization.not_found; service.unavailable while the process of a cancelled claim
     *   stops
     */
    async claim(of: Claimant, caller: Caller, text: string): Promise<SsoDomain> {
      const { domain, before } = await db.transaction(of.scope, async (tx) => {
        await assertThere(tx, of); // a 404 comes before any 400
        const domain = claimableDomain(text);
        return { domain, before: await claimedBefore(tx, of, domain).getOne() };
      });
      if (before) await letFailedStop(before);
      return db.transaction(of.scope, async (tx) => {
        if (of.organizationId !== null) await lockOrganization(tx, of.scope, of.organizationId);
        else await lockAccount(tx, of.scope);
        await lockClaims(tx, of.scope.accountId);
        const at = now();
        const known = await claimedBefore(tx, of, domain).setLock('pessimistic_write').getOne();
        if (known && known.status !== 'failed') return known;
        await assertRoom(tx, { accountId: of.scope.accountId, organizationId: of.organizationId });
        if (known) await beginAnew(tx, known, timesFrom(at, schedule));
        const claim = known ?? newClaim(of, caller, { domain, createdAt: at, ...timesFrom(at, schedule) });
        if (!known) await tx.insert(SsoDomain, claim);
        await recordDomainEvent(tx, 'sso.domain.claimed', claim);
        await startLater(tx, 'ssoDomainVerification', ssoDomainInput(claim, known ? 'claimed_again' : undefined));
        return find(tx, of, domain);
      });
    },

    /**
     * Has the claim's process query the zone now. If the process is unavailable, this request does it: the row decides.
     * A failed claim whose record is found is open again, and counts towards the limit.
     * @throws DomainError organization.not_found, sso_domain.not_found, sso_domain.limit_reached; service.unavailable
     *   while the process of a cancelled claim stops
     */
    async verify(of: Claimant, domain: string): Promise<SsoDomain> {
      // Checked before the look-up, which would otherwise be wasted, and again after it: other claims may have reached
      // the limit meanwhile.
      const read = () =>
        db.transaction(of.scope, async (tx) => {
          const found = await find(tx, of, domain);
          if (found.status === 'failed') await assertRoom(tx, found);
          return found;
        });
      const claim = await read();
      await letFailedStop(claim);
      await processes.checkDomain(ssoDomainInput(claim), endOf(claim)).catch(async (error: unknown) => {
        if (!(error instanceof DomainError) || error.code !== 'service.unavailable') throw error;
        await letFailedStop(await read()); // it may be unavailable because somebody has cancelled it
        return checks.check(claim.id, endOf(claim));
      });
      return read();
    },

    /** Deletes the claim: another claimant who has proved it can have it at once. @throws DomainError as `get` */
    remove: (of: Claimant, domain: string): Promise<void> =>
      db.transaction(of.scope, async (tx) => {
        await releaseClaim(tx, await find(tx, of, domain, { lock: true }));
      }),
  };
}

const claimedBefore = (tx: EntityManager, of: Claimant, domain: string) =>
  claimsOf(tx, of).andWhere('claim.domain = :domain', { domain });

function newClaim(
  { scope, organizationId }: Claimant,
  caller: Caller,
  made: Pick<SsoDomain, 'domain' | 'createdAt' | 'startedAt' | 'failsAt' | 'nextCheckAt'>,
): SsoDomain {
  const { type, id } = actorOf(caller);
  return {
    id: uuidv7(),
    accountId: scope.accountId,
    organizationId,
    token: newToken(),
    ...made,
    environmentId: organizationId === null ? null : (scope as EnvironmentScope).environmentId,
    status: 'pending',
    failureReason: null,
    claimedByType: type,
    claimedBy: id,
    lastCheckedAt: null,
    lastFoundAt: null,
    absentSince: null,
    verifiedAt: null,
    endedAt: null,
  };
}

async function assertThere(tx: EntityManager, { scope, organizationId }: Claimant): Promise<void> {
  if (organizationId !== null) await findOrganization(tx, scope, organizationId);
}

/** Returns a claim; with `lock`, locks its row. @throws DomainError organization.not_found, sso_domain.not_found */
async function find(tx: EntityManager, of: Claimant, text: string, { lock = false } = {}): Promise<SsoDomain> {
  await assertThere(tx, of);
  const query = claimsOf(tx, of).andWhere('claim.domain = :domain', { domain: domainIn(text) });
  const claim = await (lock ? query.setLock('pessimistic_write') : query).getOne();
  if (!claim) throw new DomainError('sso_domain.not_found');
  return claim;
}

function claimsOf(tx: EntityManager, { scope, organizationId }: Claimant): SelectQueryBuilder<SsoDomain> {
  const query = tx.createQueryBuilder(SsoDomain, 'claim').where(within(scope));
  return organizationId === null
    ? query.andWhere('claim.organizationId is null')
    : query.andWhere('claim.organizationId = :organizationId', { organizationId });
}
