import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * citext's operators are not leakproof, so PostgreSQL never uses an index on an address for a role under row-level
 * security: each sign-in would read every Identity of the Account. These functions run as the owner of the tables and
 * return only an id; the row behind it stays protected. Their cost keeps a plan from calling them for each row.
 */
export class LookUpsByAddress1763700000002 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create function gatehouse_identity_id(account uuid, address citext) returns uuid language sql stable security definer cost 10000
  return (select id from identities where account_id = account and email = address);
create function gatehouse_user_id(address citext) returns uuid language sql stable security definer cost 10000
  return (select id from users where email = address);
revoke execute on function gatehouse_identity_id, gatehouse_user_id from public;
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
