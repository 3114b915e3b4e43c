import type { EntityManager } from 'typeorm';
import type { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { Identity } from '../../../entities/identity.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { forItsValues, plannedForItsValues } from '../../platform/database/prepared-texts.js';
import { retryingDeadlocks } from '../../platform/database/retry-deadlocks.js';
import type { AccountScope } from '../../platform/scope.js';
import { letErasureStop } from '../erasures/let-erasure-stop.js';
import { DomainError } from '../errors.js';
import { maxFound as defaultMaxFound } from '../lists/identity-search.js';
import { type Page, readPage } from '../lists/paging.js';
import { readRowCount } from '../lists/row-counts.js';
import type { Bind } from '../lists/sql-parameters.js';
import type { RunningProcesses } from '../running-processes.js';
import { type DirectoryPage, type DirectorySort, searchDirectory } from './directory-search.js';
import { removeEverywhere } from './remove-everywhere.js';

/** An Environment in which a person of the directory is a member. */
export interface DirectoryMembership {
  environmentId: string;
  environmentName: string;
  environmentSlug: string;
  applicationId: string;
  applicationName: string;
  applicationSlug: string;
  isActive: boolean;
  createdAt: Date;
}
export interface DirectoryEntry {
  identity: Identity;
  memberships: DirectoryMembership[];
}

export interface DirectorySummary {
  total: number;
  active: number;
  inactive: number;
  directoryOnly: number;
  unverified: number;
  mfaEnrolled: number;
}

export type IdentityDirectory = ReturnType<typeof createDirectory>;

const columns: Record<DirectorySort, string[]> = {
  created_at: ['identity.createdAt', 'identity.id'],
  email: ['identity.email', 'identity.id'],
};

/** SQL: the conditions of the filters. A membership in an Environment that is being deleted does not count. */
const meantBy = ({ environmentId, isActive }: DirectoryPage, identity: string, put: Bind): string[] => {
  const there = environmentId ? `and m.environment_id = ${put(environmentId)}` : '';
  const memberships = (more: string) => `exists (select from environment_memberships m
    join environments e on e.id = m.environment_id and e.account_id = m.account_id
    where m.account_id = ${identity}.account_id and m.identity_id = ${identity}.id ${there} ${more})`;
  const all = environmentId === undefined ? [] : [environmentId ? memberships('') : `not ${memberships('')}`];
  if (isActive !== undefined) all.push(`${isActive ? '' : 'not '}${memberships('and m.is_active')}`);
  return all;
};

export interface DirectoryDeps {
  db: Db;
  now: Clock;
  processes: Pick<RunningProcesses, 'describe'>;
  /** The most that a search may find. */
  maxFound?: number;
}

/** The end users of an Account, in all of its Environments (contract §6). */
export function createDirectory({ db, now, processes, maxFound = defaultMaxFound }: DirectoryDeps) {
  return {
    /** @throws DomainError validation.failed for a search that means too many */
    list: ({ accountId }: AccountScope, page: DirectoryPage): Promise<Page<DirectoryEntry>> =>
      db.transaction({ accountId }, async (tx) => {
        const { rows, ...rest } = await readDirectory(tx, accountId, page, maxFound);
        return { ...rest, rows: await withMemberships(tx, accountId, rows) };
      }),

    /** @throws DomainError identity.not_found */
    get: ({ accountId }: AccountScope, id: string): Promise<DirectoryEntry> =>
      db.transaction({ accountId }, async (tx) => {
        const identity = await tx.findOneBy(Identity, { accountId, id });
        if (!identity) throw new DomainError('identity.not_found');
        return (await withMemberships(tx, accountId, [identity]))[0] as DirectoryEntry;
      }),

    /**
     * Removes a person from every Environment, and starts their erasure.
     * @throws DomainError identity.not_found, service.unavailable while the process of a cancelled erasure stops
     */
    async remove(scope: AccountScope, id: string): Promise<void> {
      await letErasureStop(db, processes, scope, id);
      await retryingDeadlocks(() => db.transaction(scope, (tx) => removeEverywhere(tx, scope, id, now)));
    },

    /**
     * Counts everybody once, whatever they are a member of; active are those who may sign in somewhere. All numbers are
     * of the same moment.
     */
    summary: ({ accountId }: AccountScope): Promise<DirectorySummary> =>
      db.transaction({ accountId }, async (tx) => {
        const [row] = await tx.query<DirectorySummary[]>(
          plannedForItsValues(`select i.total, m.active, m.members - m.active as inactive, i.total - m.members as "directoryOnly", i.unverified,
             f."mfaEnrolled"
           from (select count(*)::int as total, count(*) filter (where email_verified_at is null)::int as unverified
               from identities where account_id = $1) i,
             (select count(*)::int as members, count(*) filter (where is_active)::int as active from (
               select bool_or(m.is_active) as is_active from environment_memberships m
                 join environments e on e.id = m.environment_id and e.account_id = m.account_id
               where m.account_id = $1 group by m.identity_id) each) m,
             (select count(distinct identity_id)::int as "mfaEnrolled" from mfa_factors where account_id = $1) f`),
          [accountId],
        );
        return row as DirectorySummary;
      }),
  };
}

async function readDirectory(
  tx: EntityManager,
  accountId: string,
  page: DirectoryPage,
  maxFound: number,
): Promise<Page<Identity>> {
  const { q, environmentId, isActive } = page;
  if (q) return searchDirectory(tx, accountId, { ...page, q }, { meantBy: (put) => meantBy(page, 'i', put), maxFound });
  const query = tx.createQueryBuilder(Identity, 'identity').comment(forItsValues).where({ accountId });
  const meant = meantBy(page, 'identity', (value) => {
    query.setParameter('environmentId', value);
    return ':environmentId';
  });
  for (const condition of meant) query.andWhere(condition);
  const isWhole = environmentId === undefined && isActive === undefined;
  const total = isWhole ? await readRowCount(tx, { accountId }, 'identities') : undefined;
  return readPage(query, page, columns[page.sortBy], total);
}

async function withMemberships(
  tx: EntityManager,
  accountId: string,
  identities: Identity[],
): Promise<DirectoryEntry[]> {
  const rows = await tx.query<(DirectoryMembership & Pick<EnvironmentMembership, 'identityId'>)[]>(
    `select m.identity_id as "identityId", m.is_active as "isActive", m.created_at as "createdAt",
       e.id as "environmentId", e.name as "environmentName", e.slug as "environmentSlug",
       p.id as "applicationId", p.name as "applicationName", p.slug as "applicationSlug"
     from environment_memberships m
       join environments e on e.id = m.environment_id and e.account_id = m.account_id
       join applications p on p.id = e.application_id
     where m.account_id = $1 and m.identity_id = any($2) order by p.name, p.id, e.name, e.id`,
    [accountId, identities.map(({ id }) => id)],
  );
  return identities.map((identity) => ({
    identity,
    memberships: rows.filter(({ identityId }) => identityId === identity.id),
  }));
}
