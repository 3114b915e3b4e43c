import { Environment } from '../../../entities/environment.js';
import { UserApplicationState } from '../../../entities/user-application-state.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/db.js';
import { DomainError } from '../errors.js';
import type { ApplicationScope } from '../scope.js';

export interface ApplicationStates {
  /** The slug of the Environment that the admin looked at last; null before the first time. */
  read(scope: ApplicationScope, userId: string): Promise<string | null>;
  /** @throws DomainError environment.unknown_slug */
  store(scope: ApplicationScope, userId: string, environmentSlug: string): Promise<void>;
}

export function createApplicationStates({ db, now }: { db: Db; now: Clock }): ApplicationStates {
  return {
    read: ({ accountId, applicationId }, userId) =>
      db.transaction({ accountId }, async (tx) => {
        const state = await tx.findOneBy(UserApplicationState, { accountId, applicationId, userId });
        const environment =
          state && (await tx.findOneBy(Environment, { accountId, applicationId, id: state.environmentId }));
        return environment?.slug ?? null;
      }),
    store: ({ accountId, applicationId }, userId, slug) =>
      db.transaction({ accountId }, async (tx) => {
        const environment = await tx.findOneBy(Environment, { accountId, applicationId, slug });
        if (!environment) throw new DomainError('environment.unknown_slug');
        await tx.upsert(
          UserApplicationState,
          { userId, applicationId, accountId, environmentId: environment.id, updatedAt: now() },
          ['userId', 'applicationId'],
        );
      }),
  };
}
