import { randomBytes, randomUUID } from 'node:crypto';
import { storeEmailChange } from '../../../src/domain/email-changes/request.js';
import { hours } from '../../../src/platform/clock.js';
import { emailChangeId } from '../../../workflows/ids.js';
import { mailSent, outcomeOf } from './outcome.js';
import { aUser, soon } from './registrations.js';
import type { Begin, CrashWorld } from './world.js';

/** Requests a new address for somebody's sign-in, as its operation does, but with another deadline. */
async function anEmailChange(world: CrashWorld, ttlMs: number) {
  const { database, sealing, query } = world;
  const { id: userId } = await aUser(world);
  const address = `vlasta.${randomUUID()}@private.example`;
  const expiresAt = new Date(Date.now() + world.paced(ttlMs)).toISOString();
  await database.db.transaction('system', async (tx) => {
    const sessionId = randomUUID(); // while it lasts, the change can be confirmed
    await tx.query(
      `insert into user_sessions (id, user_id, authenticated_at, amr, created_at, last_used_at, expires_at)
       values ($1, $2, now(), '{pwd}', now(), now(), now() + interval '1 day')`,
      [sessionId, userId],
    );
    const admin = { userId, sessionId };
    const browserHash = randomBytes(32);
    await storeEmailChange(tx, sealing, { admin, email: address, browserHash, locale: 'en', now: new Date() });
    await tx.query('update email_changes set expires_at = $2 where user_id = $1', [userId, expiresAt]);
    await tx.query(
      `update outbox set input = input || jsonb_build_object('expiresAt', $2::text)
       where input ->> 'changeId' = (select id::text from email_changes where user_id = $1)`,
      [userId, expiresAt],
    );
  });
  const [{ id } = {}] = (await query('select id from email_changes where user_id = $1', userId)) as [{ id: string }];
  return { id: id as string, userId, address };
}

const emailChangeRun =
  (deaths: readonly string[], ttlMs: number, isCancelled: boolean): Begin =>
  async (world) => {
    const { id, userId, address } = await anEmailChange(world, ttlMs);
    const workflowId = emailChangeId(id);
    const row = { table: 'email_changes', id, columns: 'status, ended_reason, email' };
    return {
      workflowId,
      deaths,
      ...(isCancelled && {
        async act() {
          await mailSent(world, id);
          await world.temporal.client.workflow.getHandle(workflowId).cancel();
        },
      }),
      left: () => outcomeOf(world, { workflowId, row, address, ids: async () => [userId] }),
    };
  };

export const emailChangeRuns = {
  'a new address that nobody confirms': emailChangeRun(['expireEmailChange', 'expireEmailChange'], soon, false),
  'a new address that an operator cancels': emailChangeRun(['cancelEmailChange'], hours(1), true),
} satisfies Record<string, Begin>;
