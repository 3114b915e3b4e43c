import type { MigrationInterface, QueryRunner } from 'typeorm';

const tenant = (table: string) => `
alter table ${table} enable row level security;
create policy tenant on ${table} using ((select gatehouse_is_system())
  or (account_id = (select gatehouse_account_id())
    and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));`;

const parents = (table: string, ...more: string[]) =>
  ['account', 'environment', ...more]
    .map(
      (name) =>
        `${name}_id uuid${name === 'organization' ? '' : ' not null'} constraint ${table}_${name}_fk references ${name}s (id) on delete cascade`,
    )
    .join(',\n  ');

const member = (table: string) => `constraint ${table}_identity_fk foreign key (environment_id, identity_id)
    references environment_memberships (environment_id, identity_id) on delete cascade`;

/** What directories provision by SCIM, their tokens, and the mappings of their groups (docs/decisions/0040). */
export class Scim1763700000074 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create table scim_tokens (
  id uuid primary key,
  ${parents('scim_tokens', 'application', 'organization')},
  name text not null,
  token_hash bytea not null,
  token_preview text not null,
  last_used_at timestamptz,
  expires_at timestamptz,
  created_at timestamptz not null
);
create unique index scim_tokens_hash on scim_tokens (token_hash);
create index scim_tokens_by_age on scim_tokens (account_id, created_at, id);
create index scim_tokens_application on scim_tokens (application_id);
create index scim_tokens_environment on scim_tokens (environment_id);
create index scim_tokens_organization on scim_tokens (organization_id);
${tenant('scim_tokens')}

create table scim_users (
  ${parents('scim_users', 'organization')},
  identity_id uuid not null,
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
  ${member('scim_users')}
);
create unique index scim_users_user_name on scim_users (directory_id, user_name_key);
create index scim_users_external_id on scim_users (directory_id, external_id);
create index scim_users_account on scim_users (account_id);
create index scim_users_organization on scim_users (organization_id);
${tenant('scim_users')}

create table scim_groups (
  id uuid primary key,
  ${parents('scim_groups', 'organization')},
  directory_id uuid not null,
  display_name text not null,
  display_name_key text not null,
  external_id text,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index scim_groups_by_age on scim_groups (directory_id, created_at, id);
create index scim_groups_display_name on scim_groups (directory_id, display_name_key);
create index scim_groups_external_id on scim_groups (directory_id, external_id);
create index scim_groups_account on scim_groups (account_id);
create index scim_groups_environment on scim_groups (environment_id);
create index scim_groups_organization on scim_groups (organization_id);
${tenant('scim_groups')}

create table scim_group_members (
  group_id uuid not null constraint scim_group_members_group_fk references scim_groups (id) on delete cascade,
  identity_id uuid not null,
  ${parents('scim_group_members')},
  primary key (group_id, identity_id),
  ${member('scim_group_members')}
);
create index scim_group_members_identity on scim_group_members (environment_id, identity_id);
create index scim_group_members_account on scim_group_members (account_id);
${tenant('scim_group_members')}

create table scim_group_mappings (
  id uuid primary key,
  ${parents('scim_group_mappings', 'application', 'organization')},
  directory_id uuid not null,
  group_id uuid constraint scim_group_mappings_group_fk references scim_groups (id) on delete cascade,
  group_name text,
  group_name_key text,
  role_id uuid not null constraint scim_group_mappings_role_fk references roles (id) on delete cascade,
  node_id uuid not null constraint scim_group_mappings_node_fk references nodes (id) on delete cascade,
  created_at timestamptz not null,
  constraint scim_group_mappings_whom check ((group_id is null) <> (group_name is null))
);
create index scim_group_mappings_by_age on scim_group_mappings (account_id, created_at, id);
create index scim_group_mappings_directory on scim_group_mappings (directory_id);
create unique index scim_group_mappings_group on scim_group_mappings (group_id, role_id, node_id);
create unique index scim_group_mappings_name on scim_group_mappings (directory_id, group_name_key, role_id, node_id);
create index scim_group_mappings_application on scim_group_mappings (application_id);
create index scim_group_mappings_environment on scim_group_mappings (environment_id);
create index scim_group_mappings_organization on scim_group_mappings (organization_id);
create index scim_group_mappings_role on scim_group_mappings (role_id);
create index scim_group_mappings_node on scim_group_mappings (node_id);
${tenant('scim_group_mappings')}

create table scim_assignments (
  assignment_id uuid primary key constraint scim_assignments_assignment_fk references role_assignments (id) on delete cascade,
  ${parents('scim_assignments')},
  directory_id uuid not null
);
create index scim_assignments_directory on scim_assignments (directory_id);
create index scim_assignments_account on scim_assignments (account_id);
create index scim_assignments_environment on scim_assignments (environment_id);
${tenant('scim_assignments')}
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
