import { ofAccount } from './row-level-security.js';

/** Accounts with their Applications and Environments, and the users who administer them. */
export const accounts = `
create table users (
  id uuid primary key,
  email citext not null,
  first_name text not null,
  last_name text not null,
  password_hash text,
  password_changed_at timestamptz,
  mfa_reset_at timestamptz,
  email_changed_at timestamptz,
  email_verified_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index users_email on users (email);

create table accounts (
  id uuid primary key,
  name text not null,
  slug text not null,
  require_mfa boolean not null default false,
  require_sso boolean not null default false,
  closed_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index accounts_slug on accounts (slug);
alter table accounts enable row level security;
create policy tenant on accounts using ((select gatehouse_is_system()) or id = (select gatehouse_account_id()));

create table administrator_roles (
  id uuid primary key,
  account_id uuid not null constraint administrator_roles_account_fk references accounts (id) on delete cascade,
  name text not null,
  description text,
  system_key text,
  capabilities text[] not null,
  created_at timestamptz not null,
  updated_at timestamptz not null default now()
);
create unique index administrator_roles_name on administrator_roles (account_id, name);
create unique index administrator_roles_system_key on administrator_roles (account_id, system_key);
${ofAccount('administrator_roles')}

create table memberships (
  id uuid primary key,
  account_id uuid not null constraint memberships_account_fk references accounts (id) on delete cascade,
  user_id uuid not null constraint memberships_user_fk references users (id) on delete cascade,
  created_at timestamptz not null
);
create unique index memberships_one_per_user on memberships (account_id, user_id);
create index memberships_user on memberships (user_id);
${ofAccount('memberships')}

-- An Account sees those users who are its members.
alter table users enable row level security;
create policy tenant on users using ((select gatehouse_is_system())
  or exists (select from memberships where user_id = users.id and account_id = (select gatehouse_account_id())));

create table membership_roles (
  membership_id uuid not null constraint membership_roles_membership_fk references memberships (id) on delete cascade,
  role_id uuid not null constraint membership_roles_role_fk references administrator_roles (id) on delete cascade,
  account_id uuid not null constraint membership_roles_account_fk references accounts (id) on delete cascade,
  limits jsonb,
  primary key (membership_id, role_id)
);
create index membership_roles_role on membership_roles (role_id);
${ofAccount('membership_roles')}

create table administrator_invites (
  id uuid primary key,
  account_id uuid not null constraint administrator_invites_account_fk references accounts (id) on delete cascade,
  email citext not null,
  first_name text not null,
  last_name text not null,
  role_id uuid constraint administrator_invites_role_fk references administrator_roles (id) on delete set null,
  limits jsonb,
  locale text not null,
  token_hash bytea not null,
  token_key_id text not null,
  link_number integer not null,
  status text not null,
  ended_reason text,
  invited_by uuid constraint administrator_invites_invited_by_fk references users (id) on delete set null,
  membership_id uuid,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  constraint administrator_invites_status check (status in ('pending', 'accepted', 'expired', 'revoked'))
);
create index administrator_invites_by_age on administrator_invites (account_id, created_at, id);
create index administrator_invites_ended on administrator_invites (ended_at) where ended_at is not null;
create unique index administrator_invites_one_pending_per_address on administrator_invites (account_id, email)
  where status = 'pending';
create index administrator_invites_open on administrator_invites (id) where status = 'pending';
create index administrator_invites_role on administrator_invites (role_id);
create unique index administrator_invites_token on administrator_invites (token_hash);
${ofAccount('administrator_invites')}

create table subscriptions (
  id uuid primary key,
  account_id uuid not null constraint subscriptions_account_fk references accounts (id) on delete cascade,
  plan text not null,
  status text not null,
  created_at timestamptz not null
);
create unique index subscriptions_one_per_account on subscriptions (account_id);
${ofAccount('subscriptions')}

create table applications (
  id uuid primary key,
  account_id uuid constraint applications_account_fk references accounts (id) on delete cascade,
  name text not null,
  slug text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index applications_slug on applications (account_id, slug);
${ofAccount('applications')}

create table environments (
  id uuid primary key,
  account_id uuid constraint environments_account_fk references accounts (id) on delete cascade,
  application_id uuid constraint environments_application_fk references applications (id) on delete cascade,
  name text not null,
  slug text not null,
  type text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint environments_type check (type in ('development', 'production'))
);
create index environments_account on environments (account_id);
create unique index environments_slug on environments (application_id, slug);
${ofAccount('environments')}

create table environment_removals (
  id uuid primary key,
  account_id uuid not null constraint environment_removals_account_fk references accounts (id) on delete cascade,
  application_id uuid not null,
  environment_id uuid not null,
  name text not null,
  status text not null,
  ended_reason text,
  rest jsonb,
  identities_deleted integer not null,
  actor_type text not null,
  actor_id text,
  correlation_id uuid not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  constraint environment_removals_status check (status in ('running', 'completed', 'cancelled'))
);
create index environment_removals_application on environment_removals (application_id);
create index environment_removals_by_age on environment_removals (account_id, created_at, id);
create unique index environment_removals_one_per_environment on environment_removals (environment_id);
create index environment_removals_running on environment_removals (id) where status = 'running';
${ofAccount('environment_removals')}

create table user_application_states (
  user_id uuid not null constraint user_application_states_user_fk references users (id) on delete cascade,
  application_id uuid not null constraint user_application_states_application_fk references applications (id) on delete cascade,
  account_id uuid not null constraint user_application_states_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint user_application_states_environment_fk references environments (id) on delete cascade,
  updated_at timestamptz not null,
  primary key (user_id, application_id)
);
create index user_application_states_application on user_application_states (application_id);
create index user_application_states_environment on user_application_states (environment_id);
${ofAccount('user_application_states')}
`;
