import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { listenToChannel } from '../../src/platform/database/listen.js';
import { openDb } from '../../src/platform/database/open-db.js';
import { asOwner, newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await newDatabase({ poolSize: 1 });
});
afterAll(async () => {
  await database?.close();
});

/** Returns the connections that listen on the channel. */
const listening = async (channel: string) => {
  const text = 'select pid from pg_stat_activity where application_name = $1 and query = $2';
  const rows = await rowsAsOwner<{ pid: number }>(database.ownerUrl, text, [
    `gatehouse ${channel}`,
    `listen ${channel}`,
  ]);
  return rows.map(({ pid }) => pid);
};

test('connections that are never idle are replaced unnoticed: they look up the primary again', async () => {
  const options = { url: database.url, poolSize: 1, applicationName: 'test', onError: () => {} };
  const db = await openDb({ ...options, renewAfterSeconds: 1 });
  const which = { name: 'which', text: 'select pg_backend_pid() as pid' };
  const [alone, inTransaction] = [new Set<number>(), new Set<number>()];
  try {
    await until('both pools have had another connection', async () => {
      for (const { pid } of await db.statement<{ pid: number }>(which, [])) alone.add(pid);
      const rows = await db.transaction('system', async (tx) => {
        const [first] = await tx.query<{ pid: number }[]>(which.text);
        await sleep(20);
        return [first, ...(await tx.query<{ pid: number }[]>(which.text))]; // a transaction keeps its connection to its end
      });
      expect(rows[0]).toEqual(rows[1]);
      for (const row of rows) inTransaction.add(row?.pid ?? 0);
      return alone.size > 1 && inTransaction.size > 1;
    });
  } finally {
    await db.close();
  }
});

test('a listener changes its connection after a while, misses nothing, and has one all the time', async () => {
  const heard: (string | undefined)[] = [];
  const listener = listenToChannel({
    url: database.url,
    channel: 'renewed',
    onWake: (payload) => heard.push(payload),
    log: pino({ level: 'silent' }),
    renewAfterMs: 300,
  });
  const said = Array.from({ length: 40 }, (_, i) => `${i}`);
  try {
    await until('it listens', async () => heard.length > 0);
    const [first] = await listening('renewed');
    for (const payload of said) {
      await database.db.source.query(`select pg_notify('renewed', $1)`, [payload]);
      await sleep(25);
    }
    await until('all is heard', async () => said.every((payload) => heard.includes(payload)));
    const now = await listening('renewed');
    expect(now).not.toContain(first);
    expect(now.length).toBeLessThanOrEqual(2); // the next connection opens before the last one closes
  } finally {
    await listener.stop();
  }
  await until('none is left', async () => (await listening('renewed')).length === 0);
});

test('a connection that may not listen is closed, and not left open in PostgreSQL', async () => {
  // As a standby refuses it: an error of the statement, after which the connection still works.
  const channel = 'no channel';
  const listener = listenToChannel({
    url: database.url,
    channel,
    onWake: () => {},
    log: { info: () => {}, warn: () => {} },
  });
  try {
    await sleep(3_500); // it retries each second
    expect((await listening(channel)).length).toBeLessThan(2);
  } finally {
    await listener.stop();
  }
});

test('a listener logs once that PostgreSQL refuses it, and once that it listens again', async () => {
  const lines: { level: number; msg: string; channel: string; fault?: string }[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const name = new URL(database.url).pathname.slice(1);
  const admit = (is: boolean) => asOwner((client) => client.query(`alter database ${name} allow_connections ${is}`));
  let heard = 0;
  const listener = listenToChannel({ url: database.url, channel: 'refused', onWake: () => heard++, log });
  try {
    await until('it listens', async () => heard === 1);
    expect(lines).toEqual([]); // a start logs nothing

    await admit(false);
    await asOwner((client) =>
      client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'gatehouse refused'`,
      ),
    );
    await until('it says that it is refused', async () => lines.length > 0);
    await sleep(2_500); // it retries each second
    await admit(true);
    await until('it listens again', async () => lines.length > 1 && heard === 2);
    const about = {
      channel: 'refused',
      pid: expect.any(Number),
      hostname: expect.any(String),
      time: expect.any(Number),
    };
    expect(lines).toEqual([
      { ...about, level: 40, fault: 'error 57P01', msg: 'nothing of a channel is heard' },
      { ...about, level: 30, msg: 'a channel is heard again' },
    ]);
    expect(JSON.stringify(lines)).not.toContain(new URL(database.url).password);
  } finally {
    await admit(true);
    await listener.stop();
  }
  expect(lines).toHaveLength(2); // stopping is no loss
});

test('a listener that cannot even start logs it, too', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'info', base: null, timestamp: false }, { write: (line) => void lines.push(line.trim()) });
  const url = new URL(database.url);
  url.password = 'not the right one';
  const listener = listenToChannel({ url: url.href, channel: 'shut', onWake: () => {}, log });
  await until('it says so', async () => lines.length > 0).finally(listener.stop);
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { level: 40, channel: 'shut', fault: 'error 28P01', msg: 'nothing of a channel is heard' },
  ]);
});
