import type { LightMyRequestResponse } from 'fastify';
import type { Difference, Snapshot } from './snapshots.js';

/** What two runs from one snapshot have in common if the same happened: without new ids, times and secrets. */

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const time = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d(:?\d\d)?)?/g;
const secretNames = /client_id|secret|token|hash|preview|prefix|sealed|codes$|key_id|kid|challenge|verifier/;
const isOpaque = (value: string) => /^[\w.+/=\\:-]{20,}$/.test(value) && /\d/.test(value);

/** Tables of totals, which are kept in several rows each. */
const totals = /^(row_counts|counters|counter_stripes)$/;
/** Tables of marks for reading, and of the process itself. */
const bookkeeping =
  /^(event_counts|event_marks|event_partitions|event_state|feed_readers|member_shifts|member_waymarks|waymarked_environments|rate_limits|signing_keys|idempotent_requests|used_master_keys)$/;

/** Of an answer's envelope, and an event's place in the feed. */
const ofTheMoment = new Set(['timestamp', 'request_id', 'transaction_id', 'written_in']);

type Names = ReadonlyMap<string, string>;

function blurred(value: unknown, name: string, snapshot: Snapshot, names: Names): unknown {
  if (Array.isArray(value)) return value.map((one) => blurred(one, name, snapshot, names));
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !ofTheMoment.has(key))
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, one]) => [key, blurred(one, key, snapshot, names)]),
    );
  }
  if (typeof value === 'number' && name === 'id') return 'a number';
  if (typeof value !== 'string') return value;
  const plain = value
    .replace(uuid, (id) => names.get(id) ?? (snapshot.knows(id) ? id : 'new id'))
    .replace(time, (at) => (snapshot.knows(at.replace('T', ' ').replace('+00:00', '')) ? at : 'a time'));
  if (name === 'slug' && !snapshot.knows(value)) return value.replace(/-[a-z0-9]{5}$/, ' made unique');
  if (/^W\/"/.test(value)) return 'a version'; // of SCIM, which is computed from times, too
  if (value.includes('?token=')) return value.replace(/token=.*/, 'token=a secret');
  if (plain !== value || snapshot.knows(value)) return plain;
  return secretNames.test(name) || isOpaque(value) ? 'a secret' : plain;
}

/** Returns the answer: its status and what it says. */
export function answerOf(answer: LightMyRequestResponse, snapshot: Snapshot, names: Names): string {
  const said = answer.headers['content-type']?.toString().includes('json') && answer.body ? answer.json() : null;
  return `${answer.statusCode} ${JSON.stringify(blurred(said, '', snapshot, names))}`;
}

/** Returns the differences, each as a text, in one order. */
export function stateOf(differences: readonly Difference[], snapshot: Snapshot, names: Names): string[] {
  const all = new Map(names);
  for (const { table, sign, row } of differences)
    if (sign === '+' && typeof row.id === 'string' && !snapshot.knows(row.id)) all.set(row.id, `new ${table}`);
  const rows = differences
    .filter(({ table }) => !bookkeeping.test(table) && !totals.test(table))
    .map(({ table, sign, row }) => `${sign} ${table} ${JSON.stringify(blurred(row, '', snapshot, all))}`);
  return [...rows, ...countedIn(differences, (value) => JSON.stringify(blurred(value, '', snapshot, all)))].sort();
}

/** Returns by how much each total has changed. */
function countedIn(differences: readonly Difference[], named: (of: object) => string): string[] {
  const sums = new Map<string, number>();
  for (const { table, sign, row } of differences.filter((one) => totals.test(one.table))) {
    const { value, id: _, stripe: __, ...of } = row;
    const name = `${table.replace('counter_stripes', 'counters')} ${named(of)}`;
    sums.set(name, (sums.get(name) ?? 0) + (sign === '+' ? 1 : -1) * Number(value));
  }
  return [...sums].filter(([, by]) => by !== 0).map(([name, by]) => `${name}: ${by}`);
}

/** Returns what was told of each thing, in the order in which the change feed tells it. */
export function toldOf(differences: readonly Difference[], snapshot: Snapshot): string[] {
  const told = new Map<string, string[]>();
  const events = differences
    .filter(({ table, sign }) => table === 'events' && sign === '+')
    .map(({ row }) => row as { transaction_id: number; id: string; resource_id: string | null; action: string })
    .sort((a, b) => a.transaction_id - b.transaction_id || (a.id < b.id ? -1 : 1));
  for (const { resource_id, action } of events) {
    const of = String(resource_id);
    if (snapshot.knows(of)) told.set(of, [...(told.get(of) ?? []), action]);
  }
  return [...told].map(([of, actions]) => `${of}: ${actions.join(', ')}`).sort();
}
