import type { EntityManager, FindOneOptions } from 'typeorm';
import { Application } from '../../../entities/application.js';
import { Environment, type EnvironmentType } from '../../../entities/environment.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import { retryingDeadlocks } from '../../platform/database/retry-deadlocks.js';
import type { ApplicationScope, EnvironmentScope } from '../../platform/scope.js';
import type { Reach } from '../capabilities/reach.js';
import { covers } from '../capabilities/role-limits.js';
import { changedFields } from '../changed-fields.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { assertWithinQuota } from '../limits/quota.js';
import { containing, type Page, type PageRequest, readPage } from '../lists/paging.js';
import type { Naming } from '../slugs.js';
import { addEnvironment } from './add.js';
import { beginRemovals } from './begin-removal.js';

export interface Environments {
  /** Lists the Environments within reach, and those with a node within reach. */
  list(
    scope: ApplicationScope,
    reach: Reach,
    page: PageRequest<keyof typeof columns> & { type: EnvironmentType | undefined },
  ): Promise<Page<Environment>>;
  /** @throws DomainError environment.not_found */
  get(scope: EnvironmentScope): Promise<Environment>;
  /** @throws DomainError application.not_found, environment.slug_taken, environment.limit_reached */
  create(scope: ApplicationScope, input: Naming & { type: EnvironmentType }): Promise<Environment>;
  /** @throws DomainError environment.not_found, environment.slug_taken */
  update(scope: EnvironmentScope, changes: Partial<Naming>): Promise<Environment>;
  /**
   * Ends an Environment with everything in it, which a process deletes; see `removals`.
   * @param confirm its slug, as the administrator typed it
   * @throws DomainError environment.not_found, environment.confirmation_required
   */
  remove(scope: EnvironmentScope, confirm: string | undefined): Promise<void>;
}

/** The most per Application, whose deletion ends all of them in one transaction. */
const maxEnvironments = 500;

const columns = {
  created_at: ['environment.createdAt', 'environment.id'],
  name: ['environment.name', 'environment.id'],
  slug: ['environment.slug', 'environment.id'],
};

/** The Environments of an Application (contract §6). Transactions see the whole Account, whose tree has them. */
export function createEnvironments({ db, now }: { db: Db; now: Clock }): Environments {
  return {
    list: ({ accountId, applicationId }, reach, page) =>
      db.transaction({ accountId }, (tx) => {
        const query = tx.createQueryBuilder(Environment, 'environment').where({ accountId, applicationId });
        if (reach && !covers(reach, { applicationId })) {
          query.andWhere(`(environment.id = any(:environments) or ${leadsOn})`, {
            environments: reach.environment_ids,
            nodes: reach.node_ids,
          });
        }
        if (page.type) query.andWhere('environment.type = :type', { type: page.type });
        if (page.q) {
          const pattern = containing(page.q);
          query.andWhere('(environment.name ilike :pattern or environment.slug ilike :pattern)', { pattern });
        }
        return readPage(query, page, columns[page.sortBy]);
      }),
    get: (scope) => db.transaction({ accountId: scope.accountId }, (tx) => find(tx, scope)),
    create: ({ accountId, applicationId }, input) =>
      db.transaction({ accountId }, async (tx) => {
        // Waits for a running deletion of the Application, and keeps one from starting.
        const where = { accountId, id: applicationId };
        const application = await tx.findOne(Application, { where, lock: { mode: 'for_key_share' } });
        if (!application) throw new DomainError('application.not_found');
        await roomFor(tx, { accountId, applicationId });
        return addEnvironment(tx, { accountId, applicationId }, { ...input, now: now() });
      }),
    update: (scope, changes) =>
      db
        .transaction({ accountId: scope.accountId }, async (tx) => {
          const current = await find(tx, scope, locked);
          const changed = changedFields(current, changes);
          if (changed.length === 0) return current;
          const updated: Environment = { ...current, ...changes, updatedAt: now() };
          await tx.update(Environment, whereOf(scope), updated);
          const { accountId, applicationId, id } = updated;
          const ids = { accountId, applicationId, environmentId: id, resourceId: id, resourceLabel: updated.name };
          await recordEvent(tx, 'environment.updated', { ...ids, metadata: { changed } });
          return updated;
        })
        .catch((error: unknown) => {
          throw violates(error, 'environments_slug') ? new DomainError('environment.slug_taken') : error;
        }),
    remove: (scope, confirm) =>
      retryingDeadlocks(() =>
        db.transaction('system', async (tx) => {
          const environment = await find(tx, scope, locked);
          if (confirm !== environment.slug) throw new DomainError('environment.confirmation_required');
          await beginRemovals(tx, scope, [environment], now());
        }),
      ),
  };
}

const leadsOn = `exists (select from nodes inside where inside.environment_id = environment.id and inside.id = any(:nodes))`;

const locked = { lock: { mode: 'pessimistic_write' } } as const;
const whereOf = ({ accountId, applicationId, environmentId }: EnvironmentScope) => ({
  accountId,
  applicationId,
  id: environmentId,
});

const roomFor = (tx: EntityManager, { accountId, applicationId }: ApplicationScope) =>
  assertWithinQuota(tx, {
    of: `environments of ${applicationId}`,
    max: maxEnvironments,
    count: () => tx.countBy(Environment, { accountId, applicationId }),
    code: 'environment.limit_reached',
  });

async function find(
  tx: EntityManager,
  scope: EnvironmentScope,
  lock: Pick<FindOneOptions<Environment>, 'lock'> = {},
): Promise<Environment> {
  const environment = await tx.findOne(Environment, { where: whereOf(scope), ...lock });
  if (!environment) throw new DomainError('environment.not_found');
  return environment;
}
