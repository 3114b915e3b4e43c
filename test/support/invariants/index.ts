import { rowsAsOwner } from '../database.js';
import { eventInvariants } from './events.js';
import { peopleInvariants } from './people.js';
import { secretInvariants } from './secrets.js';
import { type Invariant, invariants } from './statements.js';

interface Reference {
  child: string;
  parent: string;
  joined: string;
  same: string[];
}

/** Every foreign key between two tables whose rows name their Account, Application or Environment. */
const references = `
select c.conrelid::regclass::text as child, c.confrelid::regclass::text as parent,
  (select string_agg(format('c.%I = p.%I', a.attname, b.attname), ' and ') from unnest(c.conkey, c.confkey) as k (child, parent)
    join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.child
    join pg_attribute b on b.attrelid = c.confrelid and b.attnum = k.parent) as joined,
  array(select a.attname::text from pg_attribute a join pg_attribute b on b.attrelid = c.confrelid and b.attname = a.attname and b.attnum > 0
    where a.attrelid = c.conrelid and a.attnum > 0 and a.attname in ('account_id', 'application_id', 'environment_id')) as same
from pg_constraint c where c.contype = 'f' and c.conparentid = 0 and c.connamespace = 'public'::regnamespace order by 1, 2`;

async function samePlaces(ownerUrl: string): Promise<Invariant[]> {
  const all = await rowsAsOwner<Reference>(ownerUrl, references);
  return all.flatMap(({ child, parent, joined, same }) =>
    same.map((column) => ({
      name: `${column} of ${child} and ${parent}`,
      text: `select '${child} ' || coalesce(to_jsonb(c)->>'id', to_jsonb(c)::text) || ' has another ${column} than its ${parent}' as what
      from ${child} c join ${parent} p on ${joined}
      where c.${column} is distinct from p.${column}${
        ['environments', 'applications'].includes(parent) ? ` and p.account_id is not null` : ''
      }`,
    })),
  );
}

const times = [
  'updated_at',
  'ended_at',
  'expires_at',
  'revoked_at',
  'removed_at',
  'consumed_at',
  'spent_at',
  'completed_at',
  'settled_at',
  'last_used_at',
  'closed_at',
  'finished_at',
  'answered_at',
];
const timed = `
select a.attrelid::regclass::text as child, a.attname::text as later from pg_attribute a join pg_class t on t.oid = a.attrelid
where t.relkind in ('r', 'p') and not t.relispartition and t.relnamespace = 'public'::regnamespace and a.attname = any($1)
  and exists (select from pg_attribute b where b.attrelid = t.oid and b.attname = 'created_at')`;

async function inOrder(ownerUrl: string): Promise<Invariant[]> {
  const all = await rowsAsOwner<{ child: string; later: string }>(ownerUrl, timed, [times]);
  return all.map(({ child, later }) => ({
    name: `${later} of ${child}`,
    text: `select '${child} ' || to_jsonb(c)::text || ': ${later} is before its beginning' as what from ${child} c where c.${later} < c.created_at - interval '1 second'`, // written by two clocks: ours and PostgreSQL's
  }));
}

/** Checks all rows of a service at rest. @returns how many rules were checked, and which rows break one */
export async function broken(ownerUrl: string): Promise<{ asked: number; wrong: string[] }> {
  const all = [
    ...invariants,
    ...peopleInvariants,
    ...eventInvariants,
    ...secretInvariants,
    ...(await samePlaces(ownerUrl)),
    ...(await inOrder(ownerUrl)),
  ];
  const wrong: string[] = [];
  for (const { name, text } of all) {
    const rows = await rowsAsOwner<{ what: string }>(ownerUrl, `select what from (${text}) wrong limit 40`);
    wrong.push(...rows.map(({ what }) => `[${name}] ${what}`));
  }
  const [row] = await rowsAsOwner<{ wrong: string }>(ownerUrl, 'select gatehouse_recount_rows() as wrong');
  if (row?.wrong !== '0') wrong.push(`[totals] ${row?.wrong} totals of row_counts are not what there is`);
  return { asked: all.length + 1, wrong };
}
