import type { EntityManager, FindOneOptions } from 'typeorm';
import { Application } from '../../../entities/application.js';
import { Environment } from '../../../entities/environment.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import { retryingDeadlocks } from '../../platform/database/retry-deadlocks.js';
import type { AccountScope, ApplicationScope } from '../../platform/scope.js';
import type { Reach } from '../capabilities/reach.js';
import { changedFields } from '../changed-fields.js';
import { beginApplicationRemoval, beginRemovals } from '../environments/begin-removal.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { lockAccount } from '../existing-account.js';
import { assertWithinQuota } from '../limits/quota.js';
import { containing, type Page, type PageRequest, readPage } from '../lists/paging.js';
import type { Naming } from '../slugs.js';
import { addApplication } from './add.js';

export interface Applications {
  /** Returns the Applications within reach, and those with an Environment or a node within reach. */
  list(scope: AccountScope, reach: Reach, page: PageRequest<keyof typeof columns>): Promise<Page<Application>>;
  /** @throws DomainError application.not_found */
  get(scope: ApplicationScope): Promise<Application>;
  /**
   * Creates an Application with its Development and Production Environments.
   * @throws DomainError application.slug_taken, application.limit_reached
   */
  create(scope: AccountScope, naming: Naming): Promise<Application>;
  /** @throws DomainError application.not_found, application.slug_taken */
  update(scope: ApplicationScope, changes: Partial<Naming>): Promise<Application>;
  /**
   * Ends an Application with its Environments and everything in them, which processes delete; see `removals`.
   * @param confirm the Application's slug, as the person who deletes it typed it
   * @throws DomainError application.not_found, application.confirmation_required
   */
  remove(scope: ApplicationScope, confirm: string | undefined): Promise<void>;
}

/** How many an Account can have: a sign-in to the Portal returns all of them. */
const maxApplications = 1_000;

const columns = {
  created_at: ['application.createdAt', 'application.id'],
  name: ['application.name', 'application.id'],
  slug: ['application.slug', 'application.id'],
};

/** Manages the Applications of an Account, its products (contract §6). */
export function createApplications({ db, now }: { db: Db; now: Clock }): Applications {
  return {
    list: ({ accountId }, reach, page) =>
      db.transaction({ accountId }, (tx) => {
        const query = tx.createQueryBuilder(Application, 'application').where({ accountId });
        if (reach) query.andWhere(`(application.id = any(:applications) or ${leadsOn})`, placesIn(reach));
        if (page.q) {
          const pattern = containing(page.q);
          query.andWhere('(application.name ilike :pattern or application.slug ilike :pattern)', { pattern });
        }
        return readPage(query, page, columns[page.sortBy]);
      }),
    get: (scope) => db.transaction({ accountId: scope.accountId }, (tx) => find(tx, scope)),
    create: ({ accountId }, naming) =>
      db.transaction({ accountId }, async (tx) => {
        await lockAccount(tx, { accountId });
        await roomFor(tx, accountId);
        return (await addApplication(tx, { ...naming, accountId, now: now() })).application;
      }),
    update: (scope, changes) =>
      db
        .transaction({ accountId: scope.accountId }, async (tx) => {
          const current = await find(tx, scope, locked);
          const changed = changedFields(current, changes);
          if (changed.length === 0) return current;
          const updated: Application = { ...current, ...changes, updatedAt: now() };
          await tx.update(Application, whereOf(scope), updated);
          await recordEvent(tx, 'application.updated', { ...idsOf(updated), metadata: { changed } });
          return updated;
        })
        .catch((error: unknown) => {
          throw violates(error, 'applications_slug') ? new DomainError('application.slug_taken') : error;
        }),
    remove: (scope, confirm) =>
      retryingDeadlocks(() =>
        db.transaction('system', async (tx) => {
          const application = await find(tx, scope, locked);
          if (confirm !== application.slug) throw new DomainError('application.confirmation_required');
          const environments = await tx.find(Environment, {
            where: { accountId: scope.accountId, applicationId: application.id },
            order: { id: 'asc' },
            ...locked,
          });
          await beginRemovals(tx, scope, environments, now());
          await beginApplicationRemoval(tx, application);
        }),
      ),
  };
}

const leadsOn = `exists (select from environments inside where inside.application_id = application.id
  and inside.id = any(:environments))
  or exists (select from nodes inside where inside.application_id = application.id and inside.id = any(:nodes))`;
const placesIn = ({ application_ids, environment_ids, node_ids }: NonNullable<Reach>) => ({
  applications: application_ids,
  environments: environment_ids,
  nodes: node_ids,
});

const locked = { lock: { mode: 'pessimistic_write' } } as const;
const whereOf = ({ accountId, applicationId }: ApplicationScope) => ({ accountId, id: applicationId });
const idsOf = ({ accountId, id, name }: Application) => ({
  accountId,
  applicationId: id,
  resourceId: id,
  resourceLabel: name,
});

const roomFor = (tx: EntityManager, accountId: string) =>
  assertWithinQuota(tx, {
    of: `applications of ${accountId}`,
    max: maxApplications,
    count: () => tx.countBy(Application, { accountId }),
    code: 'application.limit_reached',
  });

async function find(
  tx: EntityManager,
  scope: ApplicationScope,
  lock: Pick<FindOneOptions<Application>, 'lock'> = {},
): Promise<Application> {
  const application = await tx.findOne(Application, { where: whereOf(scope), ...lock });
  if (!application) throw new DomainError('application.not_found');
  return application;
}
