import type { MigrationInterface, QueryRunner } from 'typeorm';
import { type Counted, counted, recounting } from './1763700000103-counted-rows.js';

const none = `'00000000-0000-0000-0000-000000000000'`;

const inactive: Counted = {
  table: 'environment_memberships',
  list: `'inactive_identities'`,
  environment: 'environment_id',
  where: 'not is_active',
};

/**
 * The database also counts inactive members (docs/decisions/0085); all others are the active ones. Inserts and updates
 * have row triggers with conditions: nearly everybody is added as active and stays so, which costs nothing.
 */
export class CountedInactive1763700000138 implements MigrationInterface {
  transaction = false; // changes of memberships would wait until all were counted

  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create or replace function gatehouse_count_inactive() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform gatehouse_count_row(new.account_id, ${inactive.list}, new.environment_id, ${none}, case when new.is_active then -1 else 1 end);
  return null;
end $$;
revoke execute on function gatehouse_count_inactive from public;
create or replace function gatehouse_count_inactive_leavers() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform gatehouse_count_row(c.account_id, ${inactive.list}, c.environment_id, ${none}, - c.value)
  from (select account_id, environment_id, count(*) as value from gone where not is_active group by 1, 2) c;
  return null;
end $$;
revoke execute on function gatehouse_count_inactive_leavers from public;
${recounting([...counted, inactive])}`);
    await db.query(`
create or replace trigger counted_inactive_inserts after insert on environment_memberships
  for each row when (not new.is_active) execute function gatehouse_count_inactive();
create or replace trigger counted_inactive_changes after update of is_active on environment_memberships
  for each row when (old.is_active <> new.is_active) execute function gatehouse_count_inactive();
create or replace trigger counted_inactive_deletes after delete on environment_memberships
  referencing old table as gone for each statement execute function gatehouse_count_inactive_leavers();
`);
    await db.query('select gatehouse_recount_rows()');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
