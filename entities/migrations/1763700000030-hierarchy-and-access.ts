import type { MigrationInterface, QueryRunner } from 'typeorm';

const tenant = `using ((select gatehouse_is_system()) or (account_id = (select gatehouse_account_id())
  and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))))`;
const protect = (table: string) =>
  `alter table ${table} enable row level security; create policy tenant on ${table} ${tenant};`;

/** The tree of an Environment, and the roles and permissions at its nodes. */
export class HierarchyAndAccess1763700000030 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('create extension if not exists btree_gist; create extension if not exists pg_trgm;');
    await db.query(`
create table node_type_schemas (
  environment_id uuid primary key constraint node_type_schemas_environment_fk references environments (id) on delete cascade,
  account_id uuid not null constraint node_type_schemas_account_fk references accounts (id) on delete cascade,
  version integer not null,
  max_depth integer not null,
  node_types jsonb not null,
  updated_at timestamptz not null
);
create index node_type_schemas_account on node_type_schemas (account_id);
${protect('node_type_schemas')}

create table nodes (
  id uuid primary key,
  account_id uuid not null constraint nodes_account_fk references accounts (id) on delete cascade,
  application_id uuid not null constraint nodes_application_fk references applications (id) on delete cascade,
  environment_id uuid not null constraint nodes_environment_fk references environments (id) on delete cascade,
  parent_node_id uuid constraint nodes_parent_fk references nodes (id) on delete cascade,
  node_type text not null,
  name text not null,
  description text,
  slug text not null,
  status text not null,
  metadata jsonb not null,
  path uuid[] not null,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint nodes_status check (status in ('active', 'inactive')),
  constraint nodes_root check ((parent_node_id is null) = (node_type = 'root')),
  constraint nodes_path check (path[cardinality(path)] = id)
);
create unique index nodes_one_root on nodes (environment_id) where parent_node_id is null;
create unique index nodes_slug on nodes (parent_node_id, slug);
create index nodes_account on nodes (account_id);
create index nodes_application on nodes (application_id);
create index nodes_by_age on nodes (environment_id, created_at, id);
create index nodes_by_name on nodes (environment_id, name, id);
create index nodes_path_gin on nodes using gin (path);
${protect('nodes')}

create table organizations (
  id uuid primary key constraint organizations_node_fk references nodes (id) on delete cascade,
  account_id uuid not null constraint organizations_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint organizations_environment_fk references environments (id) on delete cascade,
  member_count integer not null,
  pending_invite_count integer not null,
  authentication_policy jsonb not null,
  authentication_policy_version integer not null
);
create index organizations_account on organizations (account_id);
create index organizations_environment on organizations (environment_id);
${protect('organizations')}

create table organization_members (
  organization_id uuid not null constraint organization_members_organization_fk references organizations (id) on delete cascade,
  identity_id uuid not null constraint organization_members_identity_fk references identities (id) on delete cascade,
  account_id uuid not null constraint organization_members_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint organization_members_environment_fk references environments (id) on delete cascade,
  created_at timestamptz not null,
  primary key (organization_id, identity_id)
);
create index organization_members_by_age on organization_members (organization_id, created_at, identity_id);
create index organization_members_identity on organization_members (identity_id);
create index organization_members_account on organization_members (account_id);
create index organization_members_environment on organization_members (environment_id);
${protect('organization_members')}
`);
    await db.query(`
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
create unique index permissions_key on permissions (environment_id, key);
create index permissions_account on permissions (account_id);
create index permissions_application on permissions (application_id);
${protect('permissions')}

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
create unique index roles_name on roles (environment_id, name);
create unique index roles_system_key on roles (environment_id, system_key);
create index roles_account on roles (account_id);
create index roles_application on roles (application_id);
${protect('roles')}

create table role_permissions (
  role_id uuid not null constraint role_permissions_role_fk references roles (id) on delete cascade,
  permission_id uuid not null constraint role_permissions_permission_fk references permissions (id) on delete cascade,
  account_id uuid not null constraint role_permissions_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint role_permissions_environment_fk references environments (id) on delete cascade,
  primary key (role_id, permission_id)
);
create index role_permissions_permission on role_permissions (permission_id);
create index role_permissions_account on role_permissions (account_id);
create index role_permissions_environment on role_permissions (environment_id);
${protect('role_permissions')}

create table role_assignments (
  id uuid primary key,
  account_id uuid not null constraint role_assignments_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint role_assignments_environment_fk references environments (id) on delete cascade,
  identity_id uuid not null constraint role_assignments_identity_fk references identities (id) on delete cascade,
  role_id uuid not null constraint role_assignments_role_fk references roles (id) on delete cascade,
  node_id uuid not null constraint role_assignments_node_fk references nodes (id) on delete cascade,
  effective_from timestamptz,
  effective_to timestamptz,
  created_at timestamptz not null,
  removed_at timestamptz,
  constraint role_assignments_window check (effective_from < effective_to),
  constraint role_assignments_overlapping exclude using gist (identity_id with =, role_id with =, node_id with =,
    tstzrange(effective_from, effective_to) with &&) where (removed_at is null)
);
create index role_assignments_identity on role_assignments (identity_id, environment_id);
create index role_assignments_node on role_assignments (node_id);
create index role_assignments_role on role_assignments (role_id);
create index role_assignments_account on role_assignments (account_id);
create index role_assignments_environment on role_assignments (environment_id, created_at, id);
${protect('role_assignments')}
`);
    await seedExisting(db);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const organization = {
  key: 'organization',
  name: 'Organization',
  description: null,
  allowed_parents: ['organization'],
  can_be_root: true,
  metadata_schema: null,
  icon: null,
};
const unit = { ...organization, key: 'unit', name: 'Unit', allowed_parents: ['organization', 'unit'] };

/**
 * Gives existing Environments what new ones start with (`domain/hierarchy/seed`, `domain/access/seed` as of this day).
 */
async function seedExisting(db: QueryRunner): Promise<void> {
  await db.query(
    `insert into node_type_schemas (environment_id, account_id, version, max_depth, node_types, updated_at)
select id, account_id, 1, 20, $1::jsonb, now() from environments`,
    [JSON.stringify([organization, unit])],
  );
  await db.query(`
insert into nodes (id, account_id, application_id, environment_id, parent_node_id, node_type, name, description, slug, status,
  metadata, path, version, created_at, updated_at)
select root.id, account_id, application_id, e.id, null, 'root', name, null, slug, 'active', '{}', array[root.id], 1, created_at, now()
from environments e cross join lateral (select gen_random_uuid() as id where e.id is not null) root`);
  await db.query(
    `insert into permissions (id, account_id, application_id, environment_id, key, name, description, category, source, version, created_at)
select gen_random_uuid(), account_id, application_id, environments.id, p.key, p.name, null, split_part(p.key, '.', 1), 'system', 1, now()
from environments cross join unnest($1::text[], $2::text[]) as p (key, name)`,
    [systemPermissions.map(([key]) => key), systemPermissions.map(([, name]) => name)],
  );
  for (const { key, name, holds } of systemRoles) {
    await db.query(
      `insert into roles (id, account_id, application_id, environment_id, name, description, system_key, is_active, version, created_at, updated_at)
select gen_random_uuid(), account_id, application_id, id, $2, null, $1, true, 1, now(), now() from environments`,
      [key, name],
    );
    await db.query(
      `insert into role_permissions (role_id, permission_id, account_id, environment_id)
select r.id, p.id, r.account_id, r.environment_id from roles r join permissions p using (environment_id)
where r.system_key = $1 and p.key = any($2)`,
      [key, systemPermissions.map(([permission]) => permission).filter(holds)],
    );
  }
}

const systemPermissions = [
  ['identity.view', 'View identities'],
  ['identity.manage', 'Manage identities'],
  ['hierarchy.view', 'View the hierarchy'],
  ['hierarchy.manage', 'Manage the hierarchy'],
  ['svc:organization.manage', 'Manage organizations'],
  ['rbac.view_roles', 'View roles and permissions'],
  ['rbac.manage_roles', 'Manage roles and permissions'],
  ['rbac.assign_roles', 'Assign roles'],
  ['authorization.evaluate', 'Ask for decisions'],
  ['api_key.view', 'View API keys'],
  ['api_key.manage', 'Manage API keys'],
  ['webhook.view', 'View webhooks'],
  ['webhook.manage', 'Manage webhooks'],
  ['audit.view', 'View the audit log'],
  ['changes.read', 'Read the change feed'],
] as const;
const ofOrganizations = [
  'identity.view',
  'hierarchy.view',
  'svc:organization.manage',
  'rbac.view_roles',
  'rbac.assign_roles',
];
const systemRoles = [
  { key: 'administrator', name: 'Administrator', holds: () => true },
  { key: 'organization_manager', name: 'Organization manager', holds: (key: string) => ofOrganizations.includes(key) },
  { key: 'viewer', name: 'Viewer', holds: (key: string) => /\.view(_roles)?$/.test(key) },
];
