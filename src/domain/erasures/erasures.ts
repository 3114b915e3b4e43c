import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Erasure, type ErasureStatus } from '../../../entities/erasure.js';
import { Identity } from '../../../entities/identity.js';
import type { Clock } from '../../platform/clock.js';
import { currentContext } from '../../platform/context.js';
import type { Db } from '../../platform/database/db.js';
import type { ProcessInput } from '../../platform/process-kinds.js';
import type { AccountScope } from '../../platform/scope.js';
import { actForRequester } from '../act-for-requester.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { queueLogouts } from '../logout-tokens/queue.js';
import { startLater } from '../outbox.js';
import { deleteSessions, lockOut, removeIdentity, removeMemberships, restOf } from './steps.js';

export interface ErasuresDeps {
  db: Db;
  now: Clock;
  /** Rows that one transaction deletes. */
  batchSize?: number;
}

/** `more`: the step has to be repeated; `ended`: the process was over before the step. */
export type StepOutcome = 'more' | 'done' | 'ended';

export type Erasures = ReturnType<typeof createErasures>;

/** Returns the input of an erasure's process. */
export const erasureInput = ({
  id,
  accountId,
  identityId,
}: Pick<Erasure, 'id' | 'accountId' | 'identityId'>): ProcessInput<'identityErasure'> => ({
  erasureId: id,
  accountId,
  identityId,
});

/** Deletes an Identity with everything about it: the person is locked out at once, the rest deleted batch by batch. */
export function createErasures({ db, now, batchSize = 1000 }: ErasuresDeps) {
  /** Runs a step of a running erasure, in a transaction of its own and on behalf of its requester. */
  const step = (id: string, work: (tx: EntityManager, erasure: Erasure) => Promise<boolean>) =>
    db.transaction('system', async (tx): Promise<StepOutcome> => {
      const erasure = await tx.findOne(Erasure, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (erasure?.status !== 'running') return 'ended';
      return actForRequester(erasure, async () => ((await work(tx, erasure)) ? 'more' : 'done'));
    });

  return {
    /**
     * Erases an Identity, in every Environment of its Account. A running erasure continues. A cancelled one is resumed;
     * if the Identity was deleted with an Environment meanwhile, it is completed.
     * @throws DomainError identity.not_found
     */
    request: ({ accountId }: AccountScope, identityId: string): Promise<Erasure> =>
      db.transaction({ accountId }, async (tx) => {
        const where = { accountId, id: identityId };
        const identity = await tx.findOne(Identity, { where, lock: { mode: 'pessimistic_write' } });
        const known = await tx.findOneBy(Erasure, { accountId, identityId });
        if (known && known.status !== 'cancelled') return known;
        if (known && !identity) {
          const completed = { status: 'completed', endedReason: null, rest: null, endedAt: now() } as const;
          await tx.update(Erasure, { id: known.id }, completed);
          return { ...known, ...completed };
        }
        if (!identity) throw new DomainError('identity.not_found');
        const { correlationId, actor } = currentContext();
        const erasure: Erasure = {
          id: known?.id ?? uuidv7(),
          accountId,
          identityId,
          status: 'running',
          endedReason: null,
          rest: null,
          actorType: actor.type,
          actorId: actor.id,
          correlationId,
          createdAt: known?.createdAt ?? now(),
          endedAt: null,
        };
        await tx.save(Erasure, erasure, { reload: false });
        await lockOut(tx, identityId, now());
        await startLater(tx, 'identityErasure', erasureInput(erasure));
        const eventId = await recordEvent(tx, 'identity.erasure_requested', { accountId, resourceId: identityId });
        await queueLogouts(tx, { accountId, identityId, eventId }, now());
        return erasure;
      }),

    /** Deletes a batch of the person's sessions, with grants, codes and tokens. */
    deleteSessions: (id: string) => step(id, (tx, { identityId }) => deleteSessions(tx, identityId, batchSize)),

    /** Removes the person from a batch of Environments. */
    removeMemberships: (id: string) => step(id, (tx, erasure) => removeMemberships(tx, erasure, batchSize)),

    /** Deletes the profile. Returns `more` if a membership was added meanwhile, which has to be removed first. */
    complete: (id: string) =>
      step(id, async (tx, erasure) => {
        const removed = await removeIdentity(tx, erasure);
        if (removed) await tx.update(Erasure, { id }, { status: 'completed', endedAt: now() });
        return !removed;
      }),

    /** Returns its status; `completed` if it was deleted with its Account. */
    look: (id: string): Promise<ErasureStatus> =>
      db.transaction('system', async (tx) => (await tx.findOneBy(Erasure, { id }))?.status ?? 'completed'),

    /** Stops the erasure for an operator's reason, and lists what is left; returns how it has ended. */
    cancel: (id: string, reason: string): Promise<Exclude<ErasureStatus, 'running'>> =>
      db.transaction('system', async (tx) => {
        const erasure = await tx.findOne(Erasure, { where: { id }, lock: { mode: 'pessimistic_write' } });
        if (!erasure || erasure.status === 'completed') return 'completed';
        if (erasure.status === 'cancelled') return 'cancelled';
        const rest = await restOf(tx, erasure.identityId);
        await tx.update(Erasure, { id }, { status: 'cancelled', endedReason: reason, rest, endedAt: now() });
        const { accountId, identityId: resourceId } = erasure;
        await recordEvent(tx, 'identity.erasure_cancelled', { accountId, resourceId, metadata: { reason, rest } });
        return 'cancelled';
      }),
  };
}
