import { type EntityManager, In } from 'typeorm';
import { Application } from '../../../entities/application.js';
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
  /** Returns the slug of the Environment that the admin last viewed; null if there is none or they do not reach it. */
  read(scope: ApplicationScope, reach: Reach, userId: string): Promise<string | null>;
  /** @throws DomainError account.not_found, application.not_found; environment.unknown_slug also if not reached */
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
        await lockPlace(tx, { accountId, applicationId }, userId);
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

/**
 * Locks membership and Application against deletion, which would not see a state that is stored meanwhile. Locks the
 * user before the membership, in the same order as `createUserDeletion`.
 */
async function lockPlace(tx: EntityManager, { accountId, applicationId }: ApplicationScope, userId: string) {
  const member = await tx.query<unknown[]>(
    `with person as materialized (select id from users where id = $2 for key share)
     select from memberships m join person on person.id = m.user_id where m.account_id = $1 for key share of m`,
    [accountId, userId],
  );
  if (member.length === 0) throw new DomainError('account.not_found');
  const where = { accountId, id: applicationId };
  const application = await tx.findOne(Application, { where, lock: { mode: 'for_key_share' } });
  if (!application) throw new DomainError('application.not_found');
}

/** Whether the roles reach the Environment or at least one node in it. */
const isReached = async (tx: EntityManager, reach: Reach, { id, accountId, applicationId }: Environment) =>
  covers(reach, { applicationId, environmentId: id }) ||
  tx.existsBy(Node, { accountId, environmentId: id, id: In(reach?.node_ids ?? []) });
