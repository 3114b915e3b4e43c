import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tables whose rows belong to an Account, then those whose rows belong to one of its Environments. */
const ofAccount = [
  'administrator_roles',
  'applications',
  'environments',
  'identities',
  'membership_roles',
  'memberships',
  'subscriptions',
  'user_application_states',
];
const ofEnvironment = [
  'api_keys',
  'authorization_codes',
  'counters',
  'environment_memberships',
  'environment_settings',
  'grants',
  'oauth_clients',
  'sessions',
];
/** Tables that are read by a secret, or only by the service itself: no tenant's transaction ever needs their rows. */
const ofTheService = [
  'account_intents',
  'client_assertions',
  'idempotent_requests',
  'pending_registrations',
  'rate_limits',
  'refresh_tokens',
  'revoked_access_tokens',
  'signing_keys',
  'user_sessions',
];

/** The second barrier: even a query without its scope sees only one tenant's rows, or none (architecture, "Data"). */
export class RowLevelSecurity1763700000001 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create function gatehouse_is_system() returns boolean language sql stable
  return coalesce(current_setting('gatehouse.scope', true), '') = 'system';
create function gatehouse_account_id() returns uuid language sql stable
  return nullif(current_setting('gatehouse.account_id', true), '')::uuid;
create function gatehouse_environment_id() returns uuid language sql stable
  return nullif(current_setting('gatehouse.environment_id', true), '')::uuid;
`);
    const system = '(select gatehouse_is_system())';
    const account = 'account_id = (select gatehouse_account_id())';
    const environment = `((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))`;
    const policy = (table: string, name: string, rule: string) =>
      db.query(`alter table ${table} enable row level security; create policy ${name} on ${table} ${rule}`);

    for (const table of ofAccount) await policy(table, 'tenant', `using (${system} or ${account})`);
    for (const table of ofEnvironment)
      await policy(table, 'tenant', `using (${system} or (${account} and ${environment}))`);
    for (const table of ofTheService) await policy(table, 'service', `using (${system})`);
    await policy('accounts', 'tenant', `using (${system} or id = (select gatehouse_account_id()))`);
    await policy(
      'users',
      'tenant',
      `using (${system} or exists (select from memberships where user_id = users.id and ${account}))`,
    );
    // A tenant's transaction may queue mails and workflows, but never read any.
    for (const table of ['outbox', 'emails']) {
      await policy(table, 'service', `using (${system})`);
      await db.query(`create policy enqueue on ${table} for insert with check (true)`);
    }
    await policy('events', 'tenant', `for select using (${system} or (${account} and ${environment}))`);
    await db.query(`create policy record on events for insert with check (${system} or ${account})`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
