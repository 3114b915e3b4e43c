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
  /** Rows of a table that one transaction deletes. */
  batchSize?: number;
  /** Milliseconds after which a step returns that there is more. */
  stepMs?: number;
}

/** `more`: the step has to be repeated; `ended`: the process was over before the step. */
export type RemovalOutcome = 'more' | 'done' | 'ended';

export type EnvironmentRemovals = ReturnType<typeof createEnvironmentRemovals>;

/** Deletes the contents of an Environment that has ended (`beginRemovals`), batch by batch. */
export function createEnvironmentRemovals({ db, now, batchSize = 1000, stepMs = seconds(5) }: EnvironmentRemovalsDeps) {
  /** Runs a step of a running removal, in a transaction of its own and on behalf of its requester. */
  const step = (id: string, work: (tx: EntityManager, removal: EnvironmentRemoval) => Promise<boolean>) =>
    db.transaction('system', async (tx): Promise<RemovalOutcome> => {
      const removal = await locked(tx, id);
      if (removal?.status !== 'running') return 'ended';
      return actForRequester(removal, async () => ((await work(tx, removal)) ? 'more' : 'done'));
    });

  return {
    /** Deletes for up to `stepMs`. It can be repeated at any time, and continues with what is left. */
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

    /** Deletes the Environment itself with the little that is left. Returns `more` if somebody has joined meanwhile. */
    complete: (id: string) =>
      step(id, async (tx, removal) => {
        const { accountId, applicationId, environmentId, name } = removal;
        await lockApplication(tx, applicationId); // first, as when the Application ends
        const lock = { mode: 'pessimistic_write' } as const; // nothing that refers to it is added from here on
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

    /** Returns its status; `completed` if it was deleted with its Account. */
    look: (id: string): Promise<EnvironmentRemovalStatus> =>
      db.transaction('system', async (tx) => (await tx.findOneBy(EnvironmentRemoval, { id }))?.status ?? 'completed'),

    /** Stops the removal for an operator's reason, and counts what is left; returns how it has ended. */
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

    /** Continues a cancelled removal where it stopped. */
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

/** Counts what is left. */
async function restOf(tx: EntityManager, environmentId: string): Promise<EnvironmentRemovalRest> {
  const [rest] = await tx.query<EnvironmentRemovalRest[]>(
    `select (select count(*)::int from environment_memberships where environment_id = $1) as identities,
       (select count(*)::int from nodes where environment_id = $1) as nodes`,
    [environmentId],
  );
  return rest as EnvironmentRemovalRest;
}
