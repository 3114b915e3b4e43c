import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

/**
 * Finds pending registrations and invites by address. Comparing addresses is not leakproof, so under row-level security
 * no index is used: a confirmed registration read everybody's registrations, and the removal of a person all invites.
 */
export class WaitingForAnAddress1763700000148 implements MigrationInterface {
  transaction = false;

  async up(db: QueryRunner): Promise<void> {
    await buildIndexes(db, {
      identity_invites_waiting_for_address: `on identity_invites (account_id, email) where status = 'pending'`,
      pending_registrations_user: 'on pending_registrations (user_id) where user_id is not null',
    });
    await db.query(`
create or replace function gatehouse_waiting_registrations(address citext) returns setof uuid
  language sql stable security definer set search_path = public, pg_temp
begin atomic
  select id from pending_registrations where status = 'pending' and email = address;
end`);
    await db.query(`
create or replace function gatehouse_waiting_invites(account uuid, address citext) returns setof uuid
  language sql stable security definer set search_path = public, pg_temp
begin atomic
  select id from identity_invites where account_id = account and email = address and status = 'pending';
end`);
    await db.query('revoke execute on function gatehouse_waiting_registrations, gatehouse_waiting_invites from public');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
