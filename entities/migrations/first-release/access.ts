import { ofEnvironment } from './row-level-security.js';

/** Roles and permissions, and who has which role at which node. */
export const access = `
create table permissions (
  id uuid primary key,
  account_id uuid not null constraint permissions_account_fk references accounts (id) on delete cascade,
  application_id uuid not null constraint permissions_application_fk references applications (id) on delete cascade,
  environment_id uuid not null constraint permissions_environment_fk references environments (id) on delete cascade,
  key text not null,
  name text not null,
  description text,
  category text not null,
  source text not null,
  version integer not null,
  created_at timestamptz not null,
  constraint permissions_source check (source in ('system', 'custom'))
);
create index permissions_account on permissions (account_id);
create index permissions_application on permissions (application_id);
create unique index permissions_key on permissions (environment_id, key);
${ofEnvironment('permissions')}

create table roles (
  id uuid primary key,
  account_id uuid not null constraint roles_account_fk references accounts (id) on delete cascade,
  application_id uuid not null constraint roles_application_fk references applications (id) on delete cascade,
  environment_id uuid not null constraint roles_environment_fk references environments (id) on delete cascade,
  name citext not null,
  description text,
  system_key text,
  is_active boolean not null,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index roles_account on roles (account_id);
create index roles_application on roles (application_id);
create unique index roles_name on roles (environment_id, name);
create unique index roles_system_key on roles (environment_id, system_key);
${ofEnvironment('roles')}

create table role_permissions (
  role_id uuid not null constraint role_permissions_role_fk references roles (id) on delete cascade,
  permission_id uuid not null constraint role_permissions_permission_fk references permissions (id) on delete cascade,
  account_id uuid not null constraint role_permissions_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint role_permissions_environment_fk references environments (id) on delete cascade,
  primary key (role_id, permission_id)
);
create index role_permissions_account on role_permissions (account_id);
create index role_permissions_environment on role_permissions (environment_id);
create index role_permissions_permission on role_permissions (permission_id);
${ofEnvironment('role_permissions')}

create table role_assignments (
  id uuid primary key,
  account_id uuid not null,
  environment_id uuid not null constraint role_assignments_environment_fk references environments (id) on delete cascade,
  identity_id uuid not null constraint role_assignments_identity_fk references identities (id) on delete cascade,
  role_id uuid not null constraint role_assignments_role_fk references roles (id) on delete cascade,
  node_id uuid not null constraint role_assignments_node_fk references nodes (id) on delete cascade,
  effective_from timestamptz,
  effective_to timestamptz,
  notify_holder boolean not null default false,
  created_at timestamptz not null,
  removed_at timestamptz,
  constraint role_assignments_overlapping exclude using gist (
    identity_id with =, role_id with =, node_id with =, tstzrange(effective_from, effective_to) with &&) where (removed_at is null),
  constraint role_assignments_window check (effective_from < effective_to)
);
create index role_assignments_environment on role_assignments (environment_id, created_at, id);
-- These find what was not removed. role_assignments_overlapping has both columns after the person's. The planner, for which the order of a GiST index's columns
-- does not matter, would use it and read the whole index. It considers only hash indexes cheaper.
create index role_assignments_held_at_node on role_assignments using hash (node_id) where removed_at is null;
create index role_assignments_held_of_role on role_assignments using hash (role_id) where removed_at is null;
-- Without those that have ended: a role for half an hour, every hour, is nine thousand of them in a year.
create index role_assignments_in_force on role_assignments (identity_id, environment_id, coalesce(least(removed_at, effective_to), 'infinity'));
create index role_assignments_node on role_assignments (node_id);
-- Finds those to delete, once their end is as long ago as events are kept.
create index role_assignments_over on role_assignments (least(removed_at, effective_to))
  where least(removed_at, effective_to) is not null;
create index role_assignments_role on role_assignments (role_id);
${ofEnvironment('role_assignments')}

create table role_assignment_windows (
  id uuid primary key constraint role_assignment_windows_assignment_fk references role_assignments (id) on delete cascade,
  account_id uuid not null constraint role_assignment_windows_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint role_assignment_windows_environment_fk references environments (id) on delete cascade,
  status text not null,
  ended_reason text,
  told_until timestamptz not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  constraint role_assignment_windows_status check (status in ('running', 'completed', 'removed', 'cancelled'))
);
create index role_assignment_windows_by_age on role_assignment_windows (account_id, created_at, id);
create index role_assignment_windows_environment on role_assignment_windows (environment_id);
create index role_assignment_windows_running on role_assignment_windows (id) where status = 'running';
${ofEnvironment('role_assignment_windows')}
`;
