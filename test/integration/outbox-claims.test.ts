import { randomUUID } from 'node:crypto';
import { startAllLater } from '../../src/domain/outbox.js';
import type { Db } from '../../src/platform/database/db.js';
import { createClaims } from '../../src/temporal/outbox-claims.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
beforeEach(async () => {
  database = await newDatabase();
});
afterEach(() => database.close());

const size = 20;
const newClaims = () => createClaims(database.db, 'webhooks', size);
const ids = (count: number) => Array.from({ length: count }, () => randomUUID());
const of = ({ input }: { input: Record<string, unknown> }) => String(input.accountId);

/** Adds `count` waiting deliveries of an Account. */
async function wait(accountId: string, count: number): Promise<void> {
  const scope = { webhookId: randomUUID(), accountId, environmentId: null };
  const inputs = ids(count).map((deliveryId) => ({ deliveryId, ...scope }));
  await database.db.transaction('system', (tx) => startAllLater(tx, 'webhookDelivery', inputs as never));
}

test('an Account with thousands of deliveries does not delay the few of others, and each is claimed once', async () => {
  const [many, some, few] = ids(3) as [string, string, string];
  await wait(many, 1_000);
  await wait(some, 30);
  await wait(few, 3);
  const claims = newClaims();
  const batches: string[][] = [];
  const claimed = new Set<string>();
  for (let more = true; more; ) {
    const next = await claims.next();
    for (const { id } of next.messages) claimed.add(id);
    batches.push(next.messages.map(of));
    more = next.more;
  }
  expect(claimed.size).toBe(1_033);
  expect(batches.flat()).toHaveLength(1_033);
  const lastOf = (account: string) => batches.findLastIndex((batch) => batch.includes(account));
  expect(lastOf(few)).toBe(1);
  expect(lastOf(some)).toBeLessThan(8);
  expect(lastOf(many)).toBeGreaterThan(50);
});

test('more Accounts than fit in a batch take turns, too, from whatever position', async () => {
  const accounts = ids(50);
  for (const account of accounts) await wait(account, 4);
  const claims = newClaims();
  await claims.next(); // the oldest first: five Accounts get all of theirs
  const served = new Set<string>();
  for (let i = 0; i < 3; i++) for (const message of (await claims.next()).messages) served.add(of(message));
  expect(served.size).toBe(45);
});

test('several claimers share what waits, each claims its own', async () => {
  for (const account of ids(3)) await wait(account, 200);
  const take = async () => {
    const claims = newClaims();
    const mine: string[] = [];
    for (let more = true; more; ) {
      const next = await claims.next();
      mine.push(...next.messages.map(({ id }) => id));
      more = next.more;
    }
    return mine;
  };
  const all = (await Promise.all([take(), take(), take()])).flat();
  const [{ left }] = (await rowsAsOwner<{ left: number }>(
    database.ownerUrl,
    'select count(*)::int as left from outbox where due_at <= clock_timestamp()',
  )) as [{ left: number }];
  expect([new Set(all).size, all.length, left]).toEqual([600, 600, 0]);
});

test('an Account behind a thousand others that wait for later has its turn, too', async () => {
  const accounts = ids(1_102).sort() as [string, ...string[]];
  const [first, last] = [accounts[0], accounts.at(-1) as string];
  await rowsAsOwner(
    database.ownerUrl,
    `insert into outbox (id, process, input, account_id, created_at, due_at, attempts)
     select gen_random_uuid(), 'webhookDelivery', '{}', id::uuid, now(), now() + interval '5 minutes', 1 from unnest($1::text[]) as id`,
    [accounts.slice(1, -1)],
  );
  await wait(first, 400);
  await wait(last, 3);
  const claims = newClaims();
  const batches: string[][] = [];
  for (let more = true; more; ) {
    const next = await claims.next();
    batches.push(next.messages.map(of));
    more = next.more;
  }
  expect(batches.flat()).toHaveLength(403);
  expect(batches.findIndex((batch) => batch.includes(last))).toBeLessThan(4);
});

test('after PostgreSQL’s clock was set back, messages with impossible times are claimed at the second look; one that is due later is not', async () => {
  const [made, leased, later] = ids(3) as [string, string, string];
  await rowsAsOwner(
    database.ownerUrl,
    `insert into outbox (id, process, input, account_id, created_at, due_at, attempts)
     select gen_random_uuid(), 'webhookDelivery', jsonb_build_object('accountId', id), id::uuid, now() + made, now() + due, 1
     from (values ($1, interval '1 minute', interval '1 minute'), ($2, '-1 minute', '1 hour'), ($3, '-1 minute', '4 minutes'))
       as waiting (id, made, due)`,
    [made, leased, later],
  );
  const claims = newClaims();
  expect((await claims.next()).messages).toEqual([]);
  expect(new Set((await claims.next()).messages.map(of))).toEqual(new Set([made, leased]));
});

test('a turn reads a few rows of each Account, however many it has', async () => {
  await wait(randomUUID(), 20_000);
  for (const account of ids(5)) await wait(account, 3);
  await rowsAsOwner(database.ownerUrl, 'analyze outbox');
  const statement = jest.spyOn(database.db, 'statement');
  const claims = newClaims();
  await claims.next();
  await claims.next();
  const [{ text }, values] = statement.mock.calls[1] as Parameters<Db['statement']>;
  const [{ 'QUERY PLAN': plan }] = (await database.db.transaction('system', async (tx) => {
    await tx.query(`prepare turn(int, uuid) as ${text}`);
    return tx.query(`explain (analyze, timing off, format json) execute turn(${values[0]}, '${values[1]}')`);
  })) as [{ 'QUERY PLAN': unknown }];
  const read: number[] = [];
  JSON.stringify(plan, (key, value) => {
    if (key === 'Actual Rows' || key === 'Rows Removed by Filter') read.push(value);
    return value;
  });
  const indexes = JSON.stringify(plan).match(/(?<="Index Name":")\w+/g) ?? [];
  expect(new Set(indexes)).toEqual(new Set(['outbox_turns_webhooks', 'outbox_pkey']));
  expect(Math.max(...read)).toBeLessThan(100);
});
