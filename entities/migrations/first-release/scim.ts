import { ofEnvironment } from './row-level-security.js';

/** What directories provision by SCIM, their tokens, and the mappings of their groups (docs/decisions/0040). */
export const scim = `
create table scim_tokens (
  id uuid primary key,
  account_id uuid not null constraint scim_tokens_account_fk references accounts (id) on delete cascade,
  application_id uuid not null constraint scim_tokens_application_fk references applications (id) on delete cascade,
  environment_id uuid not null constraint scim_tokens_environment_fk references environments (id) on delete cascade,
  organization_id uuid constraint scim_tokens_organization_fk references organizations (id) on delete cascade,
  name text not null,
  token_hash bytea not null,
  token_preview text not null,
  last_used_at timestamptz,
  expires_at timestamptz,
  created_at timestamptz not null
);
create index scim_tokens_application on scim_tokens (application_id);
create index scim_tokens_by_age on scim_tokens (account_id, created_at, id);
create index scim_tokens_environment on scim_tokens (environment_id);
create unique index scim_tokens_hash on scim_tokens (token_hash);
create index scim_tokens_organization on scim_tokens (organization_id);
${ofEnvironment('scim_tokens')}

create function gatehouse_scim_text(user_name text, external_id text, attributes jsonb) returns text
  language sql immutable parallel safe
  return user_name || ' ' || coalesce(external_id, '') || ' ' || coalesce(attributes ->> 'displayName', '') || ' '
    || coalesce(attributes #>> '{"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User","employeeNumber"}', '') || ' '
    || coalesce(attributes ->> 'emails', '') || ' ' || coalesce(attributes ->> 'phoneNumbers', '');

create table scim_users (
  environment_id uuid not null constraint scim_users_environment_fk references environments (id) on delete cascade,
  identity_id uuid not null,
  account_id uuid not null,
  organization_id uuid constraint scim_users_organization_fk references organizations (id) on delete cascade,
  directory_id uuid not null,
  user_name text not null,
  user_name_key text not null,
  external_id text,
  attributes jsonb not null,
  made_membership boolean not null,
  is_suspended boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, identity_id),
  constraint scim_users_identity_fk foreign key (environment_id, identity_id)
    references environment_memberships (environment_id, identity_id) on delete cascade
);
create index scim_users_external_id on scim_users (directory_id, external_id);
create index scim_users_organization on scim_users (organization_id);
-- The fields by which directories search (docs/decisions/0047).
create index scim_users_text_trigrams on scim_users
  using gin (gatehouse_scim_text(user_name, external_id, attributes) gin_trgm_ops) with (fastupdate = off);
create unique index scim_users_user_name on scim_users (directory_id, user_name_key);
${ofEnvironment('scim_users')}

create function gatehouse_matching_scim_users(account uuid, directory uuid, pattern text) returns setof uuid
  language sql stable security definer cost 10000 rows 100 set plan_cache_mode = force_generic_plan
  begin atomic
    select identity_id from scim_users
    where gatehouse_scim_text(user_name, external_id, attributes) ilike pattern and account_id = account and directory_id = directory;
  end;
revoke execute on function gatehouse_matching_scim_users from public;

create table scim_groups (
  id uuid primary key,
  account_id uuid not null constraint scim_groups_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint scim_groups_environment_fk references environments (id) on delete cascade,
  organization_id uuid constraint scim_groups_organization_fk references organizations (id) on delete cascade,
  directory_id uuid not null,
  display_name text not null,
  display_name_key text not null,
  external_id text,
  version integer not null,
  members_at_most integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index scim_groups_account on scim_groups (account_id);
create index scim_groups_by_age on scim_groups (directory_id, created_at, id);
create index scim_groups_display_name on scim_groups (directory_id, display_name_key);
create index scim_groups_environment on scim_groups (environment_id);
create index scim_groups_external_id on scim_groups (directory_id, external_id);
create index scim_groups_organization on scim_groups (organization_id);
${ofEnvironment('scim_groups')}

create table scim_group_members (
  group_id uuid not null constraint scim_group_members_group_fk references scim_groups (id) on delete cascade,
  identity_id uuid not null,
  account_id uuid not null,
  environment_id uuid not null constraint scim_group_members_environment_fk references environments (id) on delete cascade,
  primary key (group_id, identity_id),
  constraint scim_group_members_identity_fk foreign key (environment_id, identity_id)
    references environment_memberships (environment_id, identity_id) on delete cascade
);
create index scim_group_members_identity on scim_group_members (environment_id, identity_id);
${ofEnvironment('scim_group_members')}

create table scim_group_mappings (
  id uuid primary key,
  account_id uuid not null constraint scim_group_mappings_account_fk references accounts (id) on delete cascade,
  application_id uuid not null constraint scim_group_mappings_application_fk references applications (id) on delete cascade,
  environment_id uuid not null constraint scim_group_mappings_environment_fk references environments (id) on delete cascade,
  organization_id uuid constraint scim_group_mappings_organization_fk references organizations (id) on delete cascade,
  directory_id uuid not null,
  group_id uuid constraint scim_group_mappings_group_fk references scim_groups (id) on delete cascade,
  group_name text,
  group_name_key text,
  role_id uuid not null constraint scim_group_mappings_role_fk references roles (id) on delete cascade,
  node_id uuid not null constraint scim_group_mappings_node_fk references nodes (id) on delete cascade,
  created_at timestamptz not null,
  constraint scim_group_mappings_whom check ((group_id is null) <> (group_name is null))
);
create index scim_group_mappings_application on scim_group_mappings (application_id);
create index scim_group_mappings_by_age on scim_group_mappings (account_id, created_at, id);
create index scim_group_mappings_directory on scim_group_mappings (directory_id);
create index scim_group_mappings_environment on scim_group_mappings (environment_id);
create unique index scim_group_mappings_group on scim_group_mappings (group_id, role_id, node_id);
create unique index scim_group_mappings_name on scim_group_mappings (directory_id, group_name_key, role_id, node_id);
create index scim_group_mappings_node on scim_group_mappings (node_id);
create index scim_group_mappings_organization on scim_group_mappings (organization_id);
create index scim_group_mappings_role on scim_group_mappings (role_id);
${ofEnvironment('scim_group_mappings')}

create table scim_assignments (
  assignment_id uuid primary key constraint scim_assignments_assignment_fk references role_assignments (id) on delete cascade,
  account_id uuid not null,
  environment_id uuid not null constraint scim_assignments_environment_fk references environments (id) on delete cascade,
  directory_id uuid not null
);
create index scim_assignments_directory on scim_assignments (directory_id);
create index scim_assignments_environment on scim_assignments (environment_id);
${ofEnvironment('scim_assignments')}
`;
