import { type EntityManager, In } from 'typeorm';
import { Environment } from '../../../entities/environment.js';
import { Node } from '../../../entities/node.js';
import { UserApplicationState } from '../../../entities/user-application-state.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import type { ApplicationScope } from '../../platform/scope.js';
import type { Reach } from '../capabilities/reach.js';
import { covers } from '../capabilities/role-limits.js';
import { DomainError } from '../errors.js';

export interface ApplicationStates {
  /** The slug of the Environment that the admin looked at last; null before the first time, or out of their reach since. */
  read(scope: ApplicationScope, reach: Reach, userId: string): Promise<string | null>;
  /** @throws DomainError environment.unknown_slug also for one that is not reached */
  store(scope: ApplicationScope, reach: Reach, userId: string, environmentSlug: string): Promise<void>;
}

export function createApplicationStates({ db, now }: { db: Db; now: Clock }): ApplicationStates {
  return {
    read: ({ accountId, applicationId }, reach, userId) =>
      db.transaction({ accountId }, async (tx) => {
        const state = await tx.findOneBy(UserApplicationState, { accountId, applicationId, userId });
        const environment =
          state && (await tx.findOneBy(Environment, { accountId, applicationId, id: state.environmentId }));
        return environment && (await isReached(tx, reach, environment)) ? environment.slug : null;
      }),
    store: ({ accountId, applicationId }, reach, userId, slug) =>
      db.transaction({ accountId }, async (tx) => {
        const environment = await tx.findOneBy(Environment, { accountId, applicationId, slug });
        if (!environment || !(await isReached(tx, reach, environment)))
          throw new DomainError('environment.unknown_slug');
        await tx.upsert(
          UserApplicationState,
          { userId, applicationId, accountId, environmentId: environment.id, updatedAt: now() },
          ['userId', 'applicationId'],
        );
      }),
  };
}

/** Also where only a node of it is. */
const isReached = async (tx: EntityManager, reach: Reach, { id, accountId, applicationId }: Environment) =>
  covers(reach, { applicationId, environmentId: id }) ||
  tx.existsBy(Node, { accountId, environmentId: id, id: In(reach?.node_ids ?? []) });
