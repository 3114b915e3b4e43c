import type { Db, Statement } from '../../platform/database/db.js';
import { stopOf } from '../webhooks/stops.js';
import type { KindName } from './kind.js';

/** How many processes of a kind are waiting in a state, in all Accounts. */
export interface WaitingProcesses {
  kind: string;
  state: string;
  count: number;
  /** How many of them were due more than five minutes ago: no workflow has handled them in time. */
  overdue: number;
}

interface Waiting {
  /** The open states; an index on these rows serves each query. */
  states: readonly string[];
  /** Its rows, with `status`. */
  from: string;
  /** SQL: the moment by which it has to continue by itself. */
  due: string;
}

/** Deliveries that wait for a webhook which was switched off or deleted have ended, as for every reader. */
const notStopped = `select d.status, d.next_attempt_at from webhook_deliveries d
  where not (d.webhook_id in (select webhook_id from webhook_stops) and ${stopOf('reason', 'd')} is not null)`;

// A mail only waits for the mail server, an erasure only for its own steps.
const waiting: Record<KindName | 'registration' | 'account_intent' | 'email_change', Waiting> = {
  registration: { states: ['pending'], from: 'pending_registrations', due: 'expires_at' },
  account_intent: { states: ['parked', 'claimed'], from: 'account_intents', due: 'expires_at' },
  email_change: { states: ['pending'], from: 'email_changes', due: 'expires_at' },
  invite: { states: ['pending'], from: 'administrator_invites', due: 'expires_at' },
  identity_invite: { states: ['pending'], from: 'identity_invites', due: 'expires_at' },
  email: { states: ['pending'], from: 'emails', due: `created_at + interval '5 minutes'` },
  mfa_grace: { states: ['running'], from: 'mfa_graces', due: 'expires_at' },
  identity_erasure: { states: ['running'], from: 'erasures', due: `created_at + interval '1 hour'` },
  environment_removal: { states: ['running'], from: 'environment_removals', due: `created_at + interval '1 day'` },
  role_assignment: {
    states: ['running'],
    from: 'role_assignment_windows join role_assignments using (id)',
    due: 'case when effective_from > told_until then effective_from else effective_to end',
  },
  sso_domain: { states: ['pending', 'verified', 'lapsed'], from: 'sso_domains', due: 'next_check_at' },
  webhook_delivery: { states: ['pending'], from: `(${notStopped}) deliveries`, due: 'next_attempt_at' },
};

/**
 * Beyond this many rows the exact number does not matter, and counting all of them would cost what cannot be spared.
 */
const maxCounted = 20_000;

const statement: Statement = {
  name: 'count_waiting_processes',
  text: Object.entries(waiting)
    .map(
      ([kind, { states, from, due }]) => `
select '${kind}' as kind, status as state, count(*)::int as count,
  (count(*) filter (where due < now() - interval '5 minutes'))::int as overdue
from (select status, ${due} as due from ${from}
  where status in (${states.map((state) => `'${state}'`).join()}) limit ${maxCounted}) open group by status`,
    )
    .join('\nunion all'),
};

const none: WaitingProcesses[] = Object.entries(waiting).flatMap(([kind, { states }]) =>
  states.map((state) => ({ kind, state, count: 0, overdue: 0 })),
);

/**
 * Counts every kind and open state, including empty ones; at most 20 000 rows of each kind are read.
 * @param withinMs how long PostgreSQL may take
 */
export async function countWaitingProcesses(db: Pick<Db, 'statement'>, withinMs?: number): Promise<WaitingProcesses[]> {
  const rows = await db.statement<WaitingProcesses>({ ...statement, withinMs }, []);
  return none.map((empty) => rows.find(({ kind, state }) => kind === empty.kind && state === empty.state) ?? empty);
}
