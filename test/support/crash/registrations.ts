import { randomUUID } from 'node:crypto';
import { createAccountIntents } from '../../../src/domain/account-intents/account-intents.js';
import { DomainError } from '../../../src/domain/errors.js';
import { registrationToken } from '../../../src/domain/registration/link.js';
import { createRegistrations } from '../../../src/domain/registration/registrations.js';
import { hours, seconds } from '../../../src/platform/clock.js';
import { accountIntentId, registrationId } from '../../../workflows/ids.js';
import { aRequest } from '../registration.js';
import { mailSent, outcomeOf } from './outcome.js';
import type { Begin, CrashRun, CrashWorld } from './world.js';

const now = () => new Date();
/** Long enough for the mails to be sent before, even if a worker is killed meanwhile. */
export const soon = seconds(40);

/** Runs a call that is refused for a while after a worker has died, since nothing reports the death: callers retry. */
async function unlessAway<T>(work: () => Promise<T>): Promise<T | null> {
  return work().catch((error) => {
    if (error instanceof DomainError && error.code === 'service.unavailable') return null;
    throw error;
  });
}

/** Creates a registration as its form does. */
export async function aRegistration(world: CrashWorld, times: { ttlMs?: number; reminderAfterMs?: number } = {}) {
  const ttlMs = world.paced(times.ttlMs ?? hours(1));
  const reminderAfterMs = world.paced(times.reminderAfterMs ?? hours(1));
  const { database, sealing, query } = world;
  const registrations = createRegistrations({
    db: database.db,
    sealing,
    now,
    intentTtlMs: hours(1),
    ttlMs,
    reminderAfterMs,
  });
  const request = aRequest();
  await registrations.park(request);
  const { email: address } = request;
  const [row] = await query('select id from pending_registrations where email = $1', address);
  const id = row?.id as string;
  return { id, address, registrations, workflowId: registrationId(id) };
}

const registrationRun =
  (deaths: readonly string[], times: { ttlMs?: number; reminderAfterMs?: number }, act?: Act): Begin =>
  async (world) => {
    const { query } = world;
    const begun = await aRegistration(world, times);
    const made = async () =>
      Object.values((await query('select user_id, account_id from pending_registrations where id = $1', begun.id))[0]!);
    const row = { table: 'pending_registrations', id: begun.id, columns: 'status, ended_reason, email' };
    const { workflowId, address } = begun;
    return {
      workflowId,
      deaths,
      ...(act && { act: () => act(world, begun) }),
      async left() {
        const outcome = await outcomeOf(world, { workflowId, row, address, ids: made });
        const [counts] = await query(
          `select count(*)::int as memberships, count(distinct account_id)::int as accounts
           from memberships join users on users.id = user_id where users.email = $1`,
          address,
        );
        return { ...outcome, ...counts };
      },
    };
  };
type Act = (world: CrashWorld, begun: Awaited<ReturnType<typeof aRegistration>>) => Promise<unknown>;

const confirm: Act = async (world, { id, registrations }) => {
  await mailSent(world, id, '%-reminder');
  const { token } = registrationToken(world.sealing, { id });
  await world.awaits('the link is confirmed', async () => {
    const found = await registrations.find(token);
    if (found?.status !== 'pending') return true;
    return unlessAway(() => world.processes.confirmRegistration(found.process));
  });
};
/** Cancels while it waits, as in the Temporal UI. */
const cancelWaiting: Act = async (world, { id, workflowId }) => {
  await mailSent(world, id);
  await world.temporal.client.workflow.getHandle(workflowId).cancel();
};

/** Inserts an administrator with a password. */
export const aUser = async ({ query }: CrashWorld) => {
  const made = { id: randomUUID(), email: `zdenka.${randomUUID()}@private.example` };
  await query(
    `insert into users (id, email, first_name, last_name, password_hash, created_at, updated_at)
     values ($1, $2, 'Zdenka', 'Kovač', 'hash', now(), now())`,
    made.id,
    made.email,
  );
  return made;
};

interface Parked {
  id: string;
  workflowId: string;
  resume(): Promise<unknown>;
}

const intentRun =
  (
    deaths: readonly string[],
    act: (world: CrashWorld, parked: Parked) => Promise<unknown>,
    intentTtlMs = hours(1),
  ): Begin =>
  async (world): Promise<CrashRun> => {
    const { query, database, sealing, processes } = world;
    const owner = await aUser(world);
    const deps = { db: database.db, sealing, now, intentTtlMs: world.paced(intentTtlMs) };
    const registrations = createRegistrations({ ...deps, ttlMs: hours(1), reminderAfterMs: hours(1) });
    await registrations.park(aRequest({ email: owner.email }));
    const [{ id } = {}] = (await query('select id from account_intents where user_id = $1', owner.id)) as [
      { id: string },
    ];
    const intents = createAccountIntents(deps);
    const claimId = randomUUID();
    const resume = async () => {
      const found = await intents.findFor(owner.id, claimId);
      if (found?.status !== 'parked' && found?.status !== 'claimed') return true;
      return unlessAway(() => processes.resumeAccountIntent(found.process, claimId));
    };
    const workflowId = accountIntentId(id as string);
    const row = {
      table: 'account_intents',
      id: id as string,
      columns: 'status, ended_reason, account_id is not null as made',
    };
    const accountIds = async () =>
      (await query('select account_id from memberships where user_id = $1', owner.id)).map((one) => one.account_id);
    return {
      workflowId,
      deaths,
      act: () => act(world, { id: id as string, workflowId, resume }),
      async left() {
        const outcome = await outcomeOf(world, { workflowId, row, address: owner.email, ids: accountIds });
        return { ...outcome, accounts: (await accountIds()).length };
      },
    };
  };

/** Resumes after the notice was sent: it is about a parked intent. */
const resumeIt = async (world: CrashWorld, { id, resume }: Parked) => {
  await mailSent(world, id);
  await world.awaits('it is resumed', resume);
};
/** Resumes after another Account has taken the short name. */
const resumeTaken = async (world: CrashWorld, { id, resume }: Parked) => {
  const slug = `taken-${randomUUID()}`;
  await world.query(
    `insert into accounts (id, name, slug, created_at, updated_at) values ($1, 'x', $2, now(), now())`,
    randomUUID(),
    slug,
  );
  await world.query('update account_intents set account_slug = $2 where id = $1', id, slug);
  await mailSent(world, id);
  const refused = (error: unknown) => error instanceof DomainError && error.code === 'account.slug_taken';
  await world.awaits('it is refused', () => resume().catch((error) => refused(error)));
};
const cancelParked = async (world: CrashWorld, { id, workflowId }: Parked) => {
  await mailSent(world, id);
  await world.temporal.client.workflow.getHandle(workflowId).cancel();
};

export const registrationRuns = {
  'a registration, reminded of and confirmed': registrationRun(
    ['queueReminderEmail', 'provisionRegistration'],
    { reminderAfterMs: seconds(25) },
    confirm,
  ),
  'a registration that expires': registrationRun(['queueVerificationEmail', 'expireRegistration'], { ttlMs: soon }),
  'a registration that an operator cancels': registrationRun(['cancelRegistration'], {}, cancelWaiting),
  'a parked account that is resumed': intentRun(['announceIntent', 'claimIntent', 'provisionIntent'], resumeIt),
  'a parked account whose short name was taken': intentRun(['provisionIntent', 'failIntent'], resumeTaken),
  'a parked account that expires': intentRun(['expireIntent'], async () => undefined, soon),
  'a parked account that an operator cancels': intentRun(['cancelIntent'], cancelParked),
} satisfies Record<string, Begin>;
