import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openDb } from '../../src/platform/database/open-db.js';
import { startPostgres } from '../../src/platform/embedded/postgres.js';
import { until } from '../support/until.js';

test('changes that wait for a standby that is away leave no sessions behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-standby-'));
  const postgres = await startPostgres({ dataDir: folder });
  const owner = new pg.Client(postgres.url);
  await owner.connect();
  const bounds = { poolSize: 2, applicationName: 'test', answerWithinMs: 1_000, onError: () => {} };
  const db = await openDb({ url: postgres.url, ...bounds });
  const sessions = async () => {
    const { rows } = await owner.query(
      `select 1 from pg_stat_activity where application_name like 'test%' and wait_event = 'SyncRep'`,
    );
    return rows.length;
  };
  try {
    await owner.query('create table written (i integer)');
    await owner.query(`alter system set synchronous_standby_names = 'nobody'`);
    await owner.query('select pg_reload_conf()');
    await until('it waits for the standby', async () => {
      await db.statement({ name: 'asked', text: 'select 1' }, []);
      return (await owner.query('show synchronous_standby_names')).rows[0].synchronous_standby_names === 'nobody';
    });
    const statement = () => db.statement({ name: 'one', text: 'insert into written values (1)' }, []);
    const transaction = () => db.transaction('system', (tx) => tx.query('insert into written values (2)'));
    for (const change of [statement, transaction, statement, transaction]) {
      await expect(change()).rejects.toThrow('Query read timeout');
    }
    await until('none is left', async () => (await sessions()) === 0);
    // The rows exist, on this server alone: the callers were told that the outcome is unknown.
    expect((await owner.query('select * from written')).rows).toHaveLength(4);
  } finally {
    await db.close();
    await owner.end();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
