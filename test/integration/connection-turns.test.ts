import { randomUUID } from 'node:crypto';
import { latestCursor } from '../../src/domain/changes/feed.js';
import { connectionsInTurn } from '../../src/domain/limits/connection-turns.js';
import { accountAtWork, runInContext, systemActor } from '../../src/platform/context.js';
import type { Db } from '../../src/platform/database/db.js';
import { isOutage } from '../../src/platform/outages.js';
import { activitiesInTurn } from '../../src/worker/connection-turns.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { asOwner } from '../support/database.js';
import { lockWaits, untilWaiting } from '../support/lock-waits.js';
import { type Calls, callsWith, newNode, rootOf } from '../support/nodes.js';
import { patience } from '../support/patience.js';
import { newPublicClient } from '../support/public-client.js';
import { until } from '../support/until.js';

/** The pools of an api in these tests have five connections; docs/decisions/0114 says how Accounts share them. */

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const publicCalls = async (account: TestAccount): Promise<Calls> => callsWith(api, await account.apiKey());

/** Holds a row as a long transaction would, while `work` runs. */
const holding = <T>(table: string, id: string, work: () => Promise<T>): Promise<T> =>
  asOwner(async (client) => {
    await client.query('begin');
    await client.query(`select from ${table} where id = $1 for update`, [id]);
    try {
      return await work();
    } finally {
      await client.query('rollback');
    }
  }, api.database.ownerUrl);

/** Creates a person who can sign in; returns the call that does so. */
async function newPerson({ scope }: TestAccount) {
  const person = { email: 'ana@example.com', password: 'correct horse battery staple' };
  const names = { firstName: 'Ana', lastName: 'Berg' };
  const { identity } = await api.services.identities.create(scope, { ...person, ...names, emailVerified: true });
  const { clientId } = await newPublicClient(api, scope);
  const signIn = () =>
    api.app.inject({
      method: 'POST',
      url: '/v1/identity/auth/login',
      payload: { client_id: clientId, ...person },
    });
  const refresh = (token: string) =>
    api.app.inject({
      method: 'POST',
      url: '/oauth/token',
      payload: { grant_type: 'refresh_token', client_id: clientId, refresh_token: token },
    });
  return { id: identity.id, signIn, refresh };
}

test('changes of one Account that wait for a lock leave connections to others, and none of sixty is refused', async () => {
  const [theirs, ours] = await Promise.all([await newAccount(api), await newAccount(api)].map(publicCalls));
  if (!theirs || !ours) throw new Error('there are two');
  const [theirRoot, ourRoot] = await Promise.all([rootOf(theirs), rootOf(ours)]);
  const held = await newNode(theirs, 'Held', theirRoot.id);
  const [changes, made] = await holding('nodes', held.id, async () => {
    const changes = Array.from({ length: 60 }, (_, i) =>
      theirs('PATCH', `/nodes/${held.id}`, { name: `Name ${i}` }, held.version),
    );
    await untilWaiting(api.database.ownerUrl, 4);
    const metrics = await api.registry.metrics();
    expect(metrics).toMatch(/^gatehouse_postgres_pool_waiting\{pool="transactions",process="api"\} 56$/m);
    return [changes, await newNode(ours, 'Ours', ourRoot.id)] as const;
  });
  expect(made.parent_node_id).toBe(ourRoot.id);
  const statuses = (await Promise.all(changes)).map(({ statusCode }) => statusCode);
  expect(statuses.filter((status) => status === 200)).toHaveLength(1); // the others have the version from before
  expect(statuses.filter((status) => status === 503)).toHaveLength(0);
});

test('sign-ins of one person that wait for a lock leave connections to the tokens and sign-ins of others', async () => {
  const [theirs, ours] = await Promise.all([await newAccount(api), await newAccount(api)].map(newPerson));
  if (!theirs || !ours) throw new Error('there are two');
  const before = (await ours.signIn()).json().data;
  const signIns = await holding('identities', theirs.id, async () => {
    const signIns = Array.from({ length: 8 }, theirs.signIn);
    await untilWaiting(api.database.ownerUrl, 3);
    const [signedIn, refreshed] = await Promise.all([ours.signIn(), ours.refresh(before.refresh_token)]);
    expect([signedIn.statusCode, refreshed.statusCode]).toEqual([200, 200]);
    return signIns;
  });
  for (const { statusCode } of await Promise.all(signIns)) expect(statusCode).toBe(200);
});

describe('work in the scope of the system', () => {
  let account: string | undefined;
  let db: Db;
  beforeAll(() => {
    db = connectionsInTurn(api.database.db, () => account);
  });
  const as = <T>(whose: string | undefined, work: () => T): T => {
    account = whose;
    return work();
  };

  test('has the share of the Account for which a transaction works', async () => {
    const ends: (() => void)[] = [];
    const begin = () => db.transaction('system', () => new Promise<void>((resolve) => ends.push(resolve)));
    const theirs = as('theirs', () => Array.from({ length: 8 }, begin));
    await until('four of them run', () => ends.length === 4);
    const others = [as('ours', begin), as(undefined, begin)];
    await until('the last connection is used', () => ends.length === 5);
    expect(db.waiting()).toEqual({ statements: 0, transactions: 5 });
    let isOver = false;
    const all = Promise.all([...theirs, ...others]).then(() => {
      isOver = true;
    });
    await until('all are over', () => {
      ends.shift()?.();
      return isOver;
    });
    await all;
  });

  test('is refused if five hundred of its Account wait already', async () => {
    const ends: (() => void)[] = [];
    const begin = () => db.transaction('system', () => new Promise<void>((resolve) => ends.push(resolve)));
    const theirs = as('theirs', () => Array.from({ length: 504 }, begin));
    await until('four of them run', () => ends.length === 4);
    expect(db.waiting(200)).toEqual({ statements: 0, transactions: 200 });
    const refusal = await as('theirs', begin).catch((error: unknown) => error);
    expect([refusal, isOutage(refusal)]).toEqual([expect.objectContaining({ code: 'service.unavailable' }), true]);
    let isOver = false;
    const all = Promise.all([...theirs, as('ours', begin)]).then(() => {
      isOver = true;
    });
    await until(
      'all are over',
      () => {
        for (const end of ends.splice(0)) end();
        return isOver;
      },
      { everyMs: 2 },
    );
    await all;
  });

  test('has the share of the Account for which a statement works, and without one a connection of its own', async () => {
    const lock = { name: 'test_lock', text: 'select pg_advisory_xact_lock(2211)' };
    const one = { name: 'test_one', text: 'select 1 as one' };
    const theirs = await asOwner(async (client) => {
      await client.query('begin');
      await client.query(lock.text);
      const theirs = as('theirs', () => Array.from({ length: 8 }, () => db.statement(lock, [])));
      await untilWaiting(api.database.ownerUrl, 3);
      expect(db.waiting()).toEqual({ statements: 5, transactions: 0 });
      for (const whose of ['ours', undefined]) {
        expect(await as(whose, () => db.statement(one, []))).toEqual([{ one: 1 }]);
      }
      expect(await as(undefined, () => db.statement(one, [], 'ours'))).toEqual([{ one: 1 }]);
      await client.query('commit');
      return theirs;
    }, api.database.ownerUrl);
    await Promise.all(theirs);
  });
});

test('what a transaction asks beside itself does not wait for others of its Account, which wait for its locks', async () => {
  const db = connectionsInTurn(api.database.db, () => 'ours');
  const lock = { name: 'test_lock', text: 'select pg_advisory_xact_lock(2211)' };
  const one = { name: 'test_one', text: 'select 1 as one' };
  const scope = { accountId: randomUUID() };
  let begin = () => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const asked = db.transaction(scope, async (tx) => {
    await tx.query(lock.text);
    begin();
    await untilWaiting(api.database.ownerUrl, 3);
    return Promise.all([db.statement(one, []), db.statementIn(scope, one, [])]);
  });
  await begun;
  const waiting = Array.from({ length: 8 }, () => db.statement(lock, []));
  const answers = await asked;
  expect(answers).toEqual([[{ one: 1 }], [{ one: 1 }]]);
  await Promise.all(waiting);
});

test('what a transaction has begun takes turns as others do, once the transaction is over', async () => {
  const db = connectionsInTurn(api.database.db, () => 'ours');
  const lock = { name: 'test_lock', text: 'select pg_advisory_xact_lock(2211)' };
  let goOn = () => {};
  const over = new Promise<void>((resolve) => (goOn = resolve));
  let begun: Promise<unknown> = over;
  await db.transaction('system', async () => {
    begun = over.then(() => Promise.all(Array.from({ length: 8 }, () => db.statement(lock, []))));
  });
  await asOwner(async (client) => {
    await client.query('begin');
    await client.query(lock.text);
    goOn();
    await until('they wait', async () => (await lockWaits(api.database.ownerUrl)) >= 3);
    expect(db.waiting()).toEqual({ statements: 5, transactions: 0 });
    await client.query('commit');
  }, api.database.ownerUrl);
  await begun;
});

describe('the Account for which a request works is that', () => {
  /** Returns for which Account the last statement or transaction of the work was. */
  async function lastShareOf(work: () => Promise<unknown>): Promise<string | undefined> {
    let last: string | undefined;
    const { db } = api.services;
    const { statement, transaction } = db;
    db.statement = (...wanted) => {
      last = wanted[2] ?? accountAtWork();
      return statement(...wanted);
    };
    db.transaction = (scope, ...wanted) => {
      last = scope === 'system' ? accountAtWork() : scope.accountId;
      return transaction(scope, ...wanted);
    };
    await work().finally(() => Object.assign(db, { statement, transaction }));
    return last;
  }

  test('of an end user’s access token', async () => {
    const account = await newAccount(api);
    const { signIn } = await newPerson(account);
    const { access_token: token } = (await signIn()).json().data;
    const me = () => api.app.inject({ url: '/v1/identity/auth/me', headers: { authorization: `Bearer ${token}` } });
    expect(await lastShareOf(me)).toBe(account.scope.accountId);
  });

  test('of the client that asks for a sign-out', async () => {
    const { scope } = await newAccount(api);
    const { clientId } = await newPublicClient(api, scope);
    const headers = { cookie: `hosted_session=${'A'.repeat(43)}` };
    const signOut = () => api.app.inject({ url: `/oauth/logout?client_id=${clientId}`, headers });
    expect(await lastShareOf(signOut)).toBe(scope.accountId);
  });
});

test('in a worker, any number of activities of one Account wait for a connection: a refused one would be repeated', async () => {
  const db = activitiesInTurn(api.database.db);
  const scope = { accountId: randomUUID() };
  const all = Array.from({ length: 120 }, () => db.transaction(scope, (tx) => tx.query('select 1')));
  expect((await Promise.allSettled(all)).filter(({ status }) => status === 'rejected')).toEqual([]);
});

test('a change reaches any number of readers of one Account that wait for it', async () => {
  const account = await newAccount(api);
  const { scope } = account;
  const wanted = { cursor: latestCursor, limit: 1, types: null, waitMs: 10 * patience };
  const read = () =>
    runInContext({ correlationId: randomUUID(), actor: systemActor, accountId: scope.accountId }, () =>
      api.services.changeFeed.read(scope, wanted),
    );
  const calls = await publicCalls(account);
  const root = await rootOf(calls);
  const reading: ReturnType<typeof read>[] = [];
  for (let i = 0; i < 10; i++) {
    reading.push(...Array.from({ length: 12 }, read));
    await new Promise((resolve) => setTimeout(resolve, 100));
    await until('they wait', () => api.services.db.waiting().statements === 0);
  }
  await newNode(calls, 'Awaited', root.id);
  const ends = await Promise.allSettled(reading);
  expect(ends.map((end) => (end.status === 'fulfilled' ? end.value.items.length : end.reason))).toEqual(
    Array(120).fill(1),
  );
});
