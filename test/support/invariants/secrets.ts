import type { Invariant } from './statements.js';

const sealed: Record<string, readonly string[]> = {
  webhooks: ['secret', 'previous_secret'],
  sso_connections: ['oidc_client_secret_sealed'],
  mfa_factors: ['secret'],
  user_mfa_factors: ['secret'],
  signing_keys: ['private_key_sealed'],
  sso_signing_keys: ['private_key_sealed'],
  sso_requests: ['sealed_secrets', 'sealed_answer'],
  sso_sessions: ['sealed_handle'],
  sso_tests: ['sealed_outcome'],
  idempotent_requests: ['body_sealed'],
};

export const secretInvariants: readonly Invariant[] = [
  ...Object.entries(sealed).flatMap(([table, columns]) =>
    columns.map((column) => ({
      name: `sealed ${table}.${column}`,
      text: `select '${table}.${column} is not sealed: ' || left(${column}, 12) as what from ${table} where ${column} !~ '^[a-zA-Z0-9_-]+[.][A-Za-z0-9_-]{38,}$'`,
    })),
  ),
  {
    name: 'what events and messages hold',
    text: `select 'event ' || action || ' ' || metadata::text || coalesce(resource_label, '') || coalesce(actor_label, '') as what from events
      where (metadata::text || coalesce(resource_label, '')) ~ '(ghk_(live|test)_|whsec_|[a-z0-9]@[a-z0-9.-]+[.][a-z])'
    union all select 'outbox ' || input::text from outbox where input::text ~ '(ghk_|whsec_|@)'
    union all select 'mail ' || failure from emails where failure like '%@%'
    union all select 'password of ' || id from identities where password_hash !~ '^[$]'
    union all select 'password of ' || id from users where password_hash !~ '^[$]'
    union all select 'scim ' || identity_id from scim_users where attributes ? 'password'
    union all select 'change ' || id || ' is ' || status || ' and still has the new address' from email_changes
      where status <> 'pending' and email is not null or status <> 'confirmed' and former_email is not null
    union all select 'registration ' || id || ' is ' || status || ' and still names somebody' from pending_registrations
      where status not in ('pending', 'confirmed') and num_nonnulls(email, password_hash, first_name, last_name, account_name, application_name) > 0`,
  },
];
