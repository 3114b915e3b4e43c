import { randomUUID } from 'node:crypto';
import type { Place } from './place.js';

interface Table {
  name: string;
  columns: string[];
}

/** Returns every table with its columns that name an owner of the row. */
async function tablesOf({ rows }: Pick<Place, 'rows'>): Promise<Table[]> {
  return rows<Table>(
    `select t.relname as name, coalesce(array_agg(a.attname::text) filter (where a.attname is not null), '{}') as columns
     from pg_class t left join pg_attribute a on a.attrelid = t.oid and not a.attisdropped
       and a.attname in ('account_id', 'environment_id', 'user_id')
     where t.relkind in ('r', 'p') and not t.relispartition and t.relnamespace = 'public'::regnamespace
     group by t.relname order by t.relname`,
  );
}

/**
 * Returns a function that computes checksums of the places' current rows, by table. With `wholeAccount` they cover
 * everything of the place's Account and its owner's rows; otherwise what belongs to the Environment.
 */
export async function checksumsOf(
  asked: readonly [{ place: Place; wholeAccount: boolean }, ...{ place: Place; wholeAccount: boolean }[]],
): Promise<() => Promise<Record<string, string>>> {
  const [{ place }] = asked;
  const tables = await tablesOf(place);
  const text = asked.flatMap((one) => tables.flatMap((table) => checksum(table, one))).join(' union all ');
  const statement = { name: randomUUID(), text }; // planned once
  return async () => {
    const sums = await place.rows<{ name: string; sum: string }>(statement);
    return Object.fromEntries(sums.map(({ name, sum }) => [name, sum]));
  };
}

function checksum({ name, columns }: Table, { place, wholeAccount }: { place: Place; wholeAccount: boolean }) {
  const { accountId, environmentId } = place.scope;
  const { userId } = place.account;
  const mine = [
    columns.includes('environment_id') && `environment_id = '${environmentId}'`,
    wholeAccount && columns.includes('account_id') && `account_id = '${accountId}'`,
    wholeAccount && columns.includes('user_id') && `user_id = '${userId}'`,
    wholeAccount && name === 'accounts' && `id = '${accountId}'`,
    wholeAccount && name === 'users' && `id = '${userId}'`,
  ].filter(Boolean);
  if (mine.length === 0) return [];
  const sum = `md5(coalesce(string_agg(t::text, E'\\n' order by t::text), ''))`;
  const label = `${name} of ${place.account.accountSlug}/${place.environmentSlug}`;
  return [`select '${label}' as name, ${sum} as sum from ${name} t where ${mine.join(' or ')}`];
}

/** Returns a function that counts the rows of each table, except of the one that counts requests and not effects. */
export async function countsOf(place: Pick<Place, 'rows'>): Promise<() => Promise<Record<string, number>>> {
  const names = (await tablesOf(place)).map(({ name }) => name).filter((name) => name !== 'idempotent_requests');
  const text = names.map((name) => `select '${name}' as name, count(*)::int as n from ${name}`).join(' union all ');
  const statement = { name: randomUUID(), text };
  return async () =>
    Object.fromEntries((await place.rows<{ name: string; n: number }>(statement)).map(({ name, n }) => [name, n]));
}
