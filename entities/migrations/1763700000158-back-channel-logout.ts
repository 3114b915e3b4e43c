import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Clients can register where they receive logout tokens (docs/decisions/0110). The routes by which events find webhooks
 * find such clients as well, so a trigger deletes the routes of either, which the foreign key to webhooks did.
 */
export class BackChannelLogout1763700000158 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
alter table oauth_clients add column if not exists backchannel_logout_uri text,
  add column if not exists backchannel_logout_session_required boolean not null default false`);
    await db.query(`
create or replace function gatehouse_forget_routes() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  delete from webhook_routes where webhook_id = old.id;
  return null;
end $$;
revoke execute on function gatehouse_forget_routes from public;
create or replace trigger forget_routes after delete on webhooks
  for each row execute function gatehouse_forget_routes();
create or replace trigger forget_routes after delete on oauth_clients
  for each row when (old.backchannel_logout_uri is not null) execute function gatehouse_forget_routes()`);
    await db.query('alter table webhook_routes drop constraint if exists webhook_routes_webhook_fk');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
