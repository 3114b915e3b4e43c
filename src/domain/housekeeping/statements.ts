import type { Statement } from '../../platform/database/db.js';
import type { Rule } from './rules.js';

// `= any (array(…))` and no joins: PostgreSQL plans a prepared statement without knowing its limit, and would read a
// whole table to join what it takes for a tenth of another.

/**
 * Deletes a batch by one column: $1 the cut-off, $2 how many, $3 where the batch before ended (`fromTheFirst`). While
 * an old snapshot is open, as during a backup, what this run has deleted stays in the index, and without $3 each batch
 * would walk over all of it. Locked rows are left to the next run, so that two runs, or a slow transaction, delay
 * nobody.
 */
export const byColumn = ({ table, name = table, column, and }: Rule): Statement => ({
  name: `sweep_${name}`,
  text: `
with gone as (
  delete from ${table} where ctid = any (array(
    select ctid from ${table} where ${column} <= $1 and ${column} >= $3${and ? ` and ${and}` : ''}
    order by ${column} limit $2 for update skip locked
  )) returning ${column} as at
)
select count(*)::int as deleted, max(at)::text as last from gone`,
});

/** Where the first batch of a run begins. */
export const fromTheFirst = ({ epoch }: Pick<Rule, 'epoch'>): string => (epoch ? '0' : '-infinity');

/**
 * Deletes a batch of ended grants with the codes that they came from, which belong to the same session. The parameters
 * are the same.
 */
export const endedGrants: Statement = {
  name: 'sweep_grants',
  text: `
with ended as materialized (
  select id, session_id, expires_at from grants where expires_at <= $1 and expires_at >= $3 order by expires_at limit $2 for update skip locked
),
codes as (
  delete from authorization_codes
  where session_id = any (array(select session_id from ended)) and grant_id = any (array(select id from ended))
),
gone as (
  delete from grants where id = any (array(select id from ended)) returning session_id
)
select count(*)::int as deleted, coalesce(array_agg(distinct session_id), '{}') as "sessionIds",
  (select max(expires_at)::text from ended) as last
from gone`,
};

/** Deletes those of the sessions $2 that are over and have no grant left. */
export const sessionsOfGrants: Statement = {
  name: 'sweep_sessions_of_grants',
  text: `
delete from sessions s where s.id = any ($2::uuid[]) and s.expires_at <= $1
  and not exists (select from grants where session_id = s.id)`,
};

/**
 * Walks back over sessions that are over, $2 at a time from ($3, $4), and deletes those without a grant. Most keep one
 * for months, so the number of visited sessions is bounded: the latest ones, which include the new ones.
 */
export const walkSessions: Statement = {
  name: 'sweep_sessions',
  text: `
with looked as materialized (
  select id, expires_at from sessions
  where expires_at <= $1 and (expires_at, id) < ($3::timestamptz, $4::uuid) order by expires_at desc, id desc limit $2
),
unused as materialized (
  select id from sessions s where id = any (array(select id from looked))
    and not exists (select from grants where session_id = s.id) for update of s skip locked
),
gone as (
  delete from sessions where id = any (array(select id from unused)) returning 1
)
select (select count(*)::int from gone) as deleted, (select count(*)::int from looked) as looked,
  (select expires_at || '|' || id from looked order by expires_at, id limit 1) as last`,
};

/**
 * Merges the parts of each total into one, also while others change it. A function of the owner, who alone may write
 * them.
 */
export const mergedCounts: Statement = {
  name: 'merge_row_counts',
  text: 'select gatehouse_merge_row_counts()::int as merged',
};
