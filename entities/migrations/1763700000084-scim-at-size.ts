import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Indexes the fields by which directories search among many people (docs/decisions/0047). As with identities (0034), a
 * function of the tables' owner uses the trigrams and returns only ids. Groups store an upper bound of their members,
 * so that no query counts them.
 */
export class ScimAtSize1763700000084 implements MigrationInterface {
  transaction = false; // the index is built while the service goes on writing

  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create or replace function gatehouse_scim_text(user_name text, external_id text, attributes jsonb) returns text
  language sql immutable parallel safe
  return user_name || ' ' || coalesce(external_id, '') || ' ' || coalesce(attributes ->> 'displayName', '') || ' '
    || coalesce(attributes #>> '{"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User","employeeNumber"}', '') || ' '
    || coalesce(attributes ->> 'emails', '') || ' ' || coalesce(attributes ->> 'phoneNumbers', '')`);
    await db.query('drop index concurrently if exists scim_users_text_trigrams'); // left by an interrupted attempt
    await db.query(`create index concurrently scim_users_text_trigrams on scim_users
      using gin (gatehouse_scim_text(user_name, external_id, attributes) gin_trgm_ops) with (fastupdate = off)`);
    await db.query(`
create or replace function gatehouse_matching_scim_users(account uuid, directory uuid, pattern text) returns setof uuid
  language sql stable security definer cost 10000 rows 100
  begin atomic
    select identity_id from scim_users
    where gatehouse_scim_text(user_name, external_id, attributes) ilike pattern and account_id = account and directory_id = directory;
  end;
alter function gatehouse_matching_scim_users set plan_cache_mode to 'force_generic_plan';
revoke execute on function gatehouse_matching_scim_users from public;
alter table scim_groups add column if not exists members_at_most integer not null default 0;
update scim_groups g set members_at_most = (select count(*) from scim_group_members m where m.group_id = g.id);
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
