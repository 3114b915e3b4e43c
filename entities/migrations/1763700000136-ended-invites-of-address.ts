import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

/**
 * Finds ended invites by people's addresses, to delete them with a person who is erased. This is a function of the
 * owner, like all look-ups by address: comparing addresses is not leakproof, so under row-level security no index is
 * used.
 */
export class EndedInvitesOfAddress1763700000136 implements MigrationInterface {
  transaction = false;

  async up(db: QueryRunner): Promise<void> {
    await buildIndexes(db, {
      identity_invites_ended_of_address: `on identity_invites (account_id, email) where status <> 'pending'`,
    });
    await db.query(`
create or replace function gatehouse_ended_invites(account uuid, identity_ids uuid[]) returns setof uuid
  language sql stable security definer set search_path = public, pg_temp
begin atomic
  select i.id from identities p join identity_invites i on i.account_id = p.account_id and i.email = p.email
  where p.account_id = account and p.id = any(identity_ids) and i.status <> 'pending';
end`);
    await db.query('revoke execute on function gatehouse_ended_invites from public');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
