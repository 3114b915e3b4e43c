import type { EntityManager } from 'typeorm';
import { Environment } from '../../../entities/environment.js';
import {
  EnvironmentRemoval,
  type EnvironmentRemovalRest,
  type EnvironmentRemovalStatus,
} from '../../../entities/environment-removal.js';
import { type Clock, seconds } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import type { AccountScope } from '../../platform/scope.js';
import { actForRequester } from '../act-for-requester.js';
import { lockApplication, removeEmptyApplication } from '../environments/begin-removal.js';
import { environmentRemovalInput } from '../environments/removal-process.js';
import { recordEvent } from '../events/record.js';
import { startLater } from '../outbox.js';
import { parts } from './parts.js';

export interface EnvironmentRemovalsDeps {
  db: Db;
  now: Clock;
  /** Rows that one transaction takes of a table. */
  batchSize?: number;
  /** Milliseconds after which a step answers that there is more. */
  stepMs?: number;
}

/** Whether the step has to be repeated, or the process is over before it came to it. */
export type RemovalOutcome = 'more' | 'done' | 'ended';

export type EnvironmentRemovals = ReturnType<typeof createEnvironmentRemovals>;

/** Deletes what is in an Environment that was ended (`beginRemovals`), batch by batch. */
export function createEnvironmentRemovals({ db, now, batchSize = 1000, stepMs = seconds(5) }: EnvironmentRemovalsDeps) {
  /** Something of a running one, in its own transaction and in the name of who asked for it. */
  const step = (id: string, work: (tx: EntityManager, removal: EnvironmentRemoval) => Promise<boolean>) =>
    db.transaction('system', async (tx): Promise<RemovalOutcome> => {
      const removal = await locked(tx, id);
      if (removal?.status !== 'running') return 'ended';
      return actForRequester(removal, async () => ((await work(tx, removal)) ? 'more' : 'done'));
    });

  return {
    /** Deletes for a while. It may be repeated at any time: it finds what is left. */
    async advance(id: string): Promise<RemovalOutcome> {
      const until = performance.now() + stepMs;
      for (const part of parts) {
        let outcome: RemovalOutcome = 'more';
        while (outcome === 'more') {
          outcome = await step(id, (tx, removal) => part(tx, removal, batchSize));
          if (outcome === 'ended') return outcome;
          if (outcome === 'more' && performance.now() > until) return outcome;
        }
      }
      return 'done';
    },

    /** Deletes the Environment itself with the little that is left. Somebody may have come meanwhile: then with `more`. */
    complete: (id: string) =>
      step(id, async (tx, removal) => {
        const { accountId, applicationId, environmentId, name } = removal;
        await lockApplication(tx, applicationId); // before what goes with the Environment, as who ends the Application
        const lock = { mode: 'pessimistic_write' } as const; // nothing comes into it from here on
        await tx.findOne(Environment, { where: { id: environmentId }, lock });
        const { identities } = await restOf(tx, environmentId);
        if (identities > 0) return true;
        await tx.delete(Environment, { id: environmentId });
        await tx.update(EnvironmentRemoval, { id }, { status: 'completed', endedAt: now() });
        await removeEmptyApplication(tx, applicationId);
        await recordEvent(tx, 'environment.erased', {
          accountId,
          applicationId,
          environmentId,
          resourceId: environmentId,
          resourceLabel: name,
          metadata: { identities_deleted: removal.identitiesDeleted },
        });
        return false;
      }),

    /** How it stands. One that is gone, with its Account, is done. */
    look: (id: string): Promise<EnvironmentRemovalStatus> =>
      db.transaction('system', async (tx) => (await tx.findOneBy(EnvironmentRemoval, { id }))?.status ?? 'completed'),

    /** Stops, for an operator's reason, and counts what is left. Answers how it has ended. */
    cancel: (id: string, reason: string): Promise<Exclude<EnvironmentRemovalStatus, 'running'>> =>
      db.transaction('system', async (tx) => {
        const removal = await locked(tx, id);
        if (!removal || removal.status === 'completed') return 'completed';
        if (removal.status === 'cancelled') return 'cancelled';
        const { accountId, applicationId, environmentId, name } = removal;
        const rest = await restOf(tx, environmentId);
        await tx.update(EnvironmentRemoval, { id }, { status: 'cancelled', endedReason: reason, rest, endedAt: now() });
        await recordEvent(tx, 'environment.removal_cancelled', {
          accountId,
          applicationId,
          environmentId,
          resourceId: environmentId,
          resourceLabel: name,
          metadata: { reason, rest },
        });
        return 'cancelled';
      }),

    /** Takes a cancelled one up where it stopped. */
    resume: ({ accountId }: AccountScope, id: string): Promise<void> =>
      db.transaction('system', async (tx) => {
        const removal = await locked(tx, id);
        if (removal?.status !== 'cancelled' || removal.accountId !== accountId) return;
        await tx.update(
          EnvironmentRemoval,
          { id },
          { status: 'running', endedReason: null, rest: null, endedAt: null },
        );
        await startLater(tx, 'environmentRemoval', environmentRemovalInput(removal));
      }),
  };
}

const locked = (tx: EntityManager, id: string) =>
  tx.findOne(EnvironmentRemoval, { where: { id }, lock: { mode: 'pessimistic_write' } });

/** What is left, in numbers. */
async function restOf(tx: EntityManager, environmentId: string): Promise<EnvironmentRemovalRest> {
  const [rest] = await tx.query<EnvironmentRemovalRest[]>(
    `select (select count(*)::int from environment_memberships where environment_id = $1) as identities,
       (select count(*)::int from nodes where environment_id = $1) as nodes`,
    [environmentId],
  );
  return rest as EnvironmentRemovalRest;
}
