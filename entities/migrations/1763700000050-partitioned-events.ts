import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Indexes that the new table's partitions have but `events_history` lacks; they are built before the table is swapped
 * in.
 */
const indexes = {
  events_pkey: 'unique index %name on events (id, created_at)',
  events_environment: 'index %name on events (environment_id, created_at, id)',
  events_feed: 'index %name on events (environment_id, transaction_id, id) where is_domain_event',
  events_actor: 'index %name on events (actor_id, created_at) where actor_id is not null',
  events_resource: 'index %name on events (resource_id, created_at) where resource_id is not null',
  events_created: 'index %name on events using brin (created_at)',
};

/**
 * Partitions events by month (docs/decisions/0027), so that years of rows do not slow down new ones and are deleted by
 * dropping a table. Existing rows are not copied: their table becomes the partition of everything up to the next month.
 * Its slow preparation happens before, while the service goes on writing.
 */
export class PartitionedEvents1763700000050 implements MigrationInterface {
  transaction = false;

  async up(db: QueryRunner): Promise<void> {
    await db.query(
      `alter table events add column if not exists actor_label text, add column if not exists resource_label text`,
    );
    const [month]: { until: string }[] = await db.query(
      `select (date_trunc('month', now() + interval '1 month', 'UTC'))::text as until`,
    );
    const until = month?.until as string;
    await this.prepareHistory(db, until);
    await db.startTransaction();
    try {
      await this.swap(db, until);
      await db.commitTransaction();
    } catch (error) {
      await db.rollbackTransaction();
      throw error;
    }
  }

  /**
   * Prepares the table so that attaching it later neither reads nor indexes it. Safe to repeat after an interruption.
   */
  private async prepareHistory(db: QueryRunner, until: string): Promise<void> {
    await db.query(`alter table events drop constraint if exists events_history;
      alter table events add constraint events_history check (created_at is not null and created_at < '${until}') not valid`);
    await db.query('alter table events validate constraint events_history');
    for (const [name, definition] of Object.entries(indexes)) {
      const ofHistory = name.replace('events_', 'events_history_');
      await db.query(`drop index concurrently if exists ${ofHistory}`);
      await db.query(`create ${definition.replace('index %name', `index concurrently ${ofHistory}`)}`);
    }
  }

  private async swap(db: QueryRunner, until: string): Promise<void> {
    await db.query(`
lock table events in access exclusive mode;
alter table events rename to events_history;
drop index events_feed;
alter index events_account rename to events_history_account;
alter index events_correlation rename to events_history_correlation;
alter table events_history drop constraint events_pkey;
alter table events_history add constraint events_history_pkey primary key using index events_history_pkey;
create table events (like events_history including constraints) partition by range (created_at);
alter table events drop constraint events_history;
alter table events add constraint events_pkey primary key (id, created_at);
${Object.entries(indexes)
  .filter(([name]) => name !== 'events_pkey')
  .map(([name, definition]) => `create ${definition.replace('%name', name)};`)
  .join('\n')}
create index events_account on events (account_id, created_at, id);
create index events_correlation on events (correlation_id);
alter table events enable row level security;
create policy tenant on events for select using ((select gatehouse_is_system())
  or (account_id = (select gatehouse_account_id())
    and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));
create policy record on events for insert with check ((select gatehouse_is_system()) or account_id = (select gatehouse_account_id()));
-- A release that is still running goes on writing at once, before its rights are given anew.
do $$
declare role record;
begin
  for role in select distinct grantee::regrole as name from pg_class, aclexplode(relacl)
    where oid = 'events_history'::regclass and grantee not in (0, relowner) and privilege_type = 'INSERT'
  loop
    execute format('grant select, insert on events to %s', role.name);
    execute format('revoke all on events_history from %s', role.name);
  end loop;
end $$;
drop policy tenant on events_history; -- without a policy there is no way to a partition but through its table
drop policy record on events_history;
create table events_default partition of events default;
alter table events_default enable row level security;

create table event_partitions (name text primary key, starts_at timestamptz not null, ends_at timestamptz not null);
alter table event_partitions enable row level security;
do $$
begin
  if exists (select from events_history) then
    alter table events attach partition events_history for values from (minvalue) to ('${until}');
    insert into event_partitions values ('events_history', '-infinity', '${until}');
  else
    drop table events_history;
  end if;
end $$;
alter table if exists events_history drop constraint if exists events_history;
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
