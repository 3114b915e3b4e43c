import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A counter's row is locked from its change until the commit, so all new Identities of an Environment were written to
 * disk one after the other (docs/decisions/0025). Frequent changes now update one of a few additional rows; the total
 * is the sum. The pages have free space, so that updates of these rows can stay on their page.
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
