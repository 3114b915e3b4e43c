/**
 * The second barrier: even a query without its scope sees only one tenant's rows, or none (docs/architecture.md). Each
 * transaction says for whom it is; one of `system` sees everything. The functions below give a table its policies.
 */
export const rowLevelSecurity = `
create function gatehouse_is_system() returns boolean language sql stable
  return coalesce(current_setting('gatehouse.scope', true), '') = 'system';
create function gatehouse_account_id() returns uuid language sql stable
  return nullif(current_setting('gatehouse.account_id', true), '')::uuid;
create function gatehouse_environment_id() returns uuid language sql stable
  return nullif(current_setting('gatehouse.environment_id', true), '')::uuid;
`;

const system = '(select gatehouse_is_system())';
const account = 'account_id = (select gatehouse_account_id())';
const environment = `((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))`;

const policy = (table: string, name: string, rule: string) =>
  `alter table ${table} enable row level security;
create policy ${name} on ${table} ${rule};`;

/** SQL: rows that belong to an Account. */
export const ofAccount = (table: string) => policy(table, 'tenant', `using (${system} or ${account})`);

/** SQL: rows that belong to one of an Account's Environments. */
export const ofEnvironment = (table: string) =>
  policy(table, 'tenant', `using (${system} or (${account} and ${environment}))`);

/** SQL: rows that a tenant reads, and only functions of the tables' owner write, or the service in a policy of its own. */
export const readByTenant = (table: string) =>
  policy(table, 'tenant', `for select using (${system} or (${account} and ${environment}))`);

/** SQL: rows that are read by a secret, or only by the service itself: no tenant's transaction ever needs them. */
export const ofTheService = (table: string) => policy(table, 'service', `using (${system})`);

/** SQL: rows that any transaction may add, even one that never reads them. */
export const mayEnqueue = (table: string) => policy(table, 'enqueue', 'for insert with check (true)');

/** SQL: rows that say nothing about a tenant. */
export const readByAll = (table: string) => policy(table, 'everybody', 'for select using (true)');
