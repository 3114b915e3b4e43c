import { randomUUID } from 'node:crypto';
import { endOf, mailSent } from './outcome.js';
import { aRegistration } from './registrations.js';
import type { Begin, CrashWorld } from './world.js';

/** Starts a run as its schedule does, but now and with this input. */
async function start({ processes }: CrashWorld, workflow: string, input: object): Promise<string> {
  const workflowId = `${workflow}-${randomUUID()}`;
  await processes.client.workflow.start(workflow, { taskQueue: 'processes', workflowId, args: [input] });
  return workflowId;
}

/** Inserts five expired rows for batches of two; an attempt whose result is lost sweeps the first batch. */
const sweep: Begin = async (world) => {
  const subjectId = randomUUID();
  await world.query(
    `insert into emails (id, template, locale, subject_id, cause, status, created_at, ended_at)
     select gen_random_uuid(), 'x', 'en', $1, gen_random_uuid(), case when days > 90 then 'sent' else 'failed' end,
       now() - interval '100 days', now() - make_interval(days => days) from unnest(array[95, 94, 93, 92, 91, 89]) days`,
    subjectId,
  );
  const place = { rule: 'emails', after: null, looked: 0 };
  const workflowId = await start(world, 'housekeeping', { batchSize: 2, soFar: { place, deleted: {} } });
  return {
    workflowId,
    deaths: ['sweepBatch', 'sweepBatch'],
    async left() {
      const { status } = await endOf(world, workflowId); // its result counts what the last attempts have deleted
      return { status, rows: await world.query('select status from emails where subject_id = $1', subjectId) };
    },
  };
};

/** Creates a registration whose process is missing. */
const heal: Begin = async (world) => {
  const { id, address, workflowId: lost } = await aRegistration(world);
  await world.query(`delete from outbox where input ->> 'pendingRegistrationId' = $1`, id);
  await world.query(`update pending_registrations set created_at = now() - interval '10 minutes' where id = $1`, id);
  const place = { kind: 'registrationVerification', after: '00000000-0000-0000-0000-000000000000' };
  const soFar = { place, looked: 0, restarted: {} };
  const workflowId = await start(world, 'reconciler', { soFar });
  return {
    workflowId,
    deaths: ['reconcilePage', 'reconcilePage'],
    async left() {
      const { status } = await endOf(world, workflowId);
      await mailSent(world, id);
      const events = await world.query('select action from events where resource_id = $1', id);
      return { status, lost: await world.statusOf(lost), delivered: world.mails.messagesTo(address), events };
    },
  };
};

/** Starts a rotation without a usable key: the last one is used up, or there never was one. */
const rotate: Begin = async (world) => {
  const { query, temporal } = world;
  await query('update signing_keys set signs_until = now()');
  const workflowId = await start(world, 'signingKeyRotation', {});
  return {
    workflowId,
    deaths: ['rotateSigningKeys'],
    async left() {
      const { status } = await endOf(world, workflowId);
      const { startTime, closeTime } = await temporal.client.workflow.getHandle(workflowId).describe();
      const made = `select count(*)::int as keys, count(e.id)::int as events from signing_keys k
        left join events e on e.resource_id = k.kid and e.action = 'signing_key.created'
        where k.created_at between $1 and $2`;
      return { status, ...(await query(made, startTime, closeTime))[0] };
    },
  };
};

/** Inserts events that no run has counted yet. */
const count: Begin = async (world) => {
  const { query } = world;
  const accountId = randomUUID();
  await query(
    `insert into events (id, transaction_id, written_in, account_id, actor_type, action, resource_type, metadata, outcome, category, severity,
       correlation_id, is_domain_event, customer_visible, identity_visible, created_at)
     select gen_random_uuid(), pg_current_xact_id()::text::bigint, pg_current_xact_id()::text::bigint, $1, 'system', 'x', 'x', '{}', 'success', 'security',
       'info', gen_random_uuid(), false, true, false, now() from generate_series(1, 7)`,
    accountId,
  );
  const workflowId = await start(world, 'eventCounting', {});
  return {
    workflowId,
    deaths: ['countEvents'],
    async left() {
      const { status } = await endOf(world, workflowId);
      const counted = 'select coalesce(sum(value), 0)::int as events from event_counts where account_id = $1';
      return { status, ...(await query(counted, accountId))[0] };
    },
  };
};

export const scheduledRuns = {
  'a run that counts events': count,
  'a run of housekeeping': sweep,
  'a run of the reconciler': heal,
  'a rotation of the signing keys': rotate,
} satisfies Record<string, Begin>;
