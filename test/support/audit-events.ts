import { randomUUID } from 'node:crypto';
import type { TestAccount, TestApi } from './api.js';
import { asOwner } from './database.js';

/** Inserts many events at once, at any time and in any place, as only tests do. Returns their ids, oldest first. */
export async function writeEvents(
  { database }: TestApi,
  { scope }: Pick<TestAccount, 'scope'>,
  count: number,
  columns: Record<string, string> = {},
): Promise<string[]> {
  const values: Record<string, string> = {
    id: "uuidv7(i * interval '1 second')",
    transaction_id: 'pg_current_xact_id()::text::bigint',
    account_id: `'${scope.accountId}'`,
    application_id: `'${scope.applicationId}'`,
    environment_id: `'${scope.environmentId}'`,
    actor_type: `'identity'`,
    actor_id: `'${randomUUID()}'`,
    action: `'node.updated'`,
    resource_type: `'node'`,
    resource_id: `gen_random_uuid()::text`,
    metadata: `'{}'`,
    outcome: `'success'`,
    category: `'structure'`,
    severity: `'info'`,
    correlation_id: 'gen_random_uuid()',
    is_domain_event: 'true',
    customer_visible: 'true',
    identity_visible: 'false',
    created_at: `now() + i * interval '1 millisecond'`,
    ...columns,
  };
  return asOwner(async (client) => {
    await client.query('delete from event_marks'); // the marks say that no event with an earlier time follows
    const { rows } = await client.query(
      `with written as (insert into events (${Object.keys(values).join()}) select ${Object.values(values).join()}
         from generate_series(1, ${count}) i returning id, created_at)
       select id from written order by created_at, id`,
    );
    return rows.map(({ id }) => id as string);
  }, database.ownerUrl);
}

/** Counts the scope's events, as housekeeping does. */
export const settle = ({ database }: TestApi) =>
  database.db.statement({ name: 's', text: 'select gatehouse_settle_events()' }, []);

/** Waits for the open transactions of all databases of the server: the feed shows no event newer than an open one. */
export async function allEnded({ database }: TestApi): Promise<void> {
  const one = async (text: string, values: unknown[] = []) =>
    (await database.db.statement<{ value: unknown }>({ name: `all_ended_${text.length}`, text }, values))[0]?.value;
  const latest = await one('select pg_snapshot_xmax(pg_current_snapshot())::text as value');
  while (!(await one('select pg_snapshot_xmin(pg_current_snapshot()) >= $1::text::xid8 as value', [latest]))) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
