import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A counter's row was held from its change to the end of the commit, so that all who were made in an Environment were written
 * to disk one after the other (docs/decisions/0025). Changes that come in number go to one of a few rows beside it; the
 * total is the sum. The pages have room, since a row that is changed all the time had better stay on its page.
 */
export class StripedCounters1763700000063 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create table counter_stripes (
  environment_id uuid not null constraint counter_stripes_environment_fk references environments (id) on delete cascade,
  name text not null,
  stripe smallint not null,
  account_id uuid not null constraint counter_stripes_account_fk references accounts (id) on delete cascade,
  value bigint not null,
  primary key (environment_id, name, stripe)
) with (fillfactor = 40);
alter table counter_stripes enable row level security;
create policy tenant on counter_stripes using ((select gatehouse_is_system())
  or (account_id = (select gatehouse_account_id())
    and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
