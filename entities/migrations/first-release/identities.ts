import { ofAccount, ofEnvironment } from './row-level-security.js';

/** End users: the Identities of an Account, their membership in Environments and organizations, invites and erasures. */
export const identities = `
create function gatehouse_identity_text(first_name text, last_name text, email citext) returns text
  language sql immutable parallel safe
  return coalesce(first_name, '') || ' ' || coalesce(last_name, '') || ' ' || email::text;

create table identities (
  id uuid primary key,
  account_id uuid not null constraint identities_account_fk references accounts (id) on delete cascade,
  email citext not null,
  email_verified_at timestamptz,
  verified_by_word boolean not null default false,
  first_name text,
  last_name text,
  avatar_url text,
  external_id text,
  metadata jsonb not null,
  password_hash text,
  password_changed_at timestamptz,
  recovery_codes_generation integer not null default 0,
  mfa_admin_reset_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index identities_by_age on identities (account_id, created_at, id);
create index identities_by_first_name on identities (account_id, first_name, id);
create index identities_by_last_name on identities (account_id, last_name, id);
create unique index identities_email on identities (account_id, email);
create unique index identities_external_id on identities (account_id, external_id);
-- The text comes first: with the Account first, PostgreSQL looked up the Account's entry for each row with the rarest trigram of
-- a text, before it knew whether the row has the other trigrams (docs/decisions/0058).
create index identities_text_of_account on identities
  using gin (gatehouse_identity_text(first_name, last_name, email) gin_trgm_ops, account_id) with (fastupdate = off);
${ofAccount('identities')}

create table environment_memberships (
  id uuid primary key,
  account_id uuid not null constraint environment_memberships_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint environment_memberships_environment_fk references environments (id) on delete cascade,
  identity_id uuid not null constraint environment_memberships_identity_fk references identities (id) on delete cascade,
  is_active boolean not null,
  kept_out_by uuid,
  locked_until timestamptz,
  created_at timestamptz not null
);
-- Counts and lists an Account's people without reading others (docs/decisions/0047).
create index environment_memberships_directory on environment_memberships (account_id, identity_id) include (environment_id, is_active);
create index environment_memberships_identity on environment_memberships (identity_id);
-- Covers all columns of skipped entries, so that no row is read on the way to a page in the middle.
create index environment_memberships_in_order on environment_memberships (environment_id, created_at, identity_id) include (account_id, is_active);
create index environment_memberships_inactive on environment_memberships (environment_id, created_at, identity_id) include (account_id)
  where not is_active;
create unique index environment_memberships_one_per_identity on environment_memberships (environment_id, identity_id);
${ofEnvironment('environment_memberships')}

create table organization_members (
  organization_id uuid not null constraint organization_members_organization_fk references organizations (id) on delete cascade,
  identity_id uuid not null constraint organization_members_identity_fk references identities (id) on delete cascade,
  account_id uuid not null,
  environment_id uuid not null constraint organization_members_environment_fk references environments (id) on delete cascade,
  created_at timestamptz not null,
  primary key (organization_id, identity_id)
);
create index organization_members_by_age on organization_members (organization_id, created_at, identity_id);
create index organization_members_environment on organization_members (environment_id);
create index organization_members_identity on organization_members (identity_id);
${ofEnvironment('organization_members')}

create table identity_invites (
  id uuid primary key,
  account_id uuid not null constraint identity_invites_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint identity_invites_environment_fk references environments (id) on delete cascade,
  intent text not null,
  email citext not null,
  first_name text,
  last_name text,
  role_ids uuid[] not null,
  node_id uuid,
  organization_id uuid constraint identity_invites_organization_fk references organizations (id) on delete set null,
  locale text not null,
  token_hash bytea not null,
  token_key_id text not null,
  link_number integer not null,
  status text not null,
  ended_reason text,
  invited_by_type text not null,
  invited_by uuid not null,
  identity_id uuid constraint identity_invites_identity_fk references identities (id) on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  constraint identity_invites_intent check (intent in ('activate', 'directory', 'organization')),
  constraint identity_invites_status check (status in ('pending', 'accepted', 'expired', 'revoked'))
);
create index identity_invites_account on identity_invites (account_id, created_at, id);
create index identity_invites_by_age on identity_invites (environment_id, created_at, id);
create index identity_invites_ended on identity_invites (ended_at) where ended_at is not null;
create index identity_invites_ended_of_address on identity_invites (account_id, email) where status <> 'pending';
create index identity_invites_identity on identity_invites (identity_id);
create unique index identity_invites_one_pending_per_address on identity_invites (environment_id, email)
  where status = 'pending' and intent <> 'organization';
create unique index identity_invites_one_pending_per_organization on identity_invites (organization_id, email)
  where status = 'pending';
create index identity_invites_open on identity_invites (id) where status = 'pending';
create index identity_invites_organization on identity_invites (organization_id, created_at, id);
-- Few at most: lists subtract them from the count of an organization.
create index identity_invites_overdue on identity_invites (organization_id, expires_at) where status = 'pending';
create unique index identity_invites_token on identity_invites (token_hash);
create index identity_invites_waiting_for_address on identity_invites (account_id, email) where status = 'pending';
${ofEnvironment('identity_invites')}

create table identity_links (
  id uuid primary key,
  account_id uuid not null,
  environment_id uuid not null constraint identity_links_environment_fk references environments (id) on delete cascade,
  oauth_client_id uuid not null,
  identity_id uuid constraint identity_links_identity_fk references identities (id) on delete cascade,
  purpose text not null,
  locale text not null,
  token_hash bytea not null,
  token_key_id text not null,
  parameters jsonb not null,
  browser_hash bytea,
  password_hash text,
  first_name text,
  last_name text,
  joins boolean not null,
  attempts integer not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  constraint identity_links_purpose check (purpose in ('verify_email', 'reset_password', 'known_address'))
);
create index identity_links_client on identity_links (oauth_client_id);
create index identity_links_environment on identity_links (environment_id);
create index identity_links_expiry on identity_links (expires_at);
create index identity_links_identity on identity_links (identity_id, purpose, created_at);
create unique index identity_links_token on identity_links (token_hash);
${ofEnvironment('identity_links')}

create table daily_sign_ups (
  environment_id uuid not null constraint daily_sign_ups_environment_fk references environments (id) on delete cascade,
  day date not null,
  account_id uuid not null constraint daily_sign_ups_account_fk references accounts (id) on delete cascade,
  count integer not null,
  primary key (environment_id, day)
);
create index daily_sign_ups_account on daily_sign_ups (account_id);
create index daily_sign_ups_day on daily_sign_ups (day);
${ofEnvironment('daily_sign_ups')}

create table erasures (
  id uuid primary key,
  account_id uuid not null constraint erasures_account_fk references accounts (id) on delete cascade,
  identity_id uuid not null,
  status text not null,
  ended_reason text,
  rest jsonb,
  actor_type text not null,
  actor_id text,
  correlation_id uuid not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  constraint erasures_status check (status in ('running', 'completed', 'cancelled'))
);
create index erasures_by_age on erasures (account_id, created_at, id);
create unique index erasures_one_per_identity on erasures (identity_id);
create index erasures_running on erasures (id) where status = 'running';
${ofAccount('erasures')}
`;
