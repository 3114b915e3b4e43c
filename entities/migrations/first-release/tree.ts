import { ofEnvironment } from './row-level-security.js';

/** The tree of nodes of an Environment, and the organizations in it. */
export const tree = `
-- No name has a line break, so no match spans name and slug.
create function gatehouse_node_text(name text, slug text) returns text language sql immutable parallel safe
  return name || chr(10) || slug;

create table nodes (
  id uuid primary key,
  account_id uuid not null constraint nodes_account_fk references accounts (id) on delete cascade,
  application_id uuid not null,
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
  constraint nodes_path check (path[cardinality(path)] = id),
  constraint nodes_root check ((parent_node_id is null) = (node_type = 'root')),
  constraint nodes_status check (status in ('active', 'inactive'))
);
create index nodes_account on nodes (account_id);
create index nodes_by_age on nodes (environment_id, created_at, id);
create index nodes_by_name on nodes (environment_id, name, id);
create index nodes_by_slug on nodes (environment_id, slug, id);
-- Hardly any node is inactive: a decision checks those above its own without reading the others (docs/decisions/0025).
create index nodes_inactive on nodes (id) where status = 'inactive';
create unique index nodes_one_root on nodes (environment_id) where parent_node_id is null;
create index nodes_organizations_by_age on nodes (environment_id, created_at, id) where node_type = 'organization';
create index nodes_organizations_by_name on nodes (environment_id, name, id) where node_type = 'organization';
create index nodes_organizations_by_slug on nodes (environment_id, slug) where node_type = 'organization';
-- Organizations have an index of their own, since they are also searched alone.
create index nodes_organizations_trigrams on nodes
  using gin (gatehouse_node_text(name, slug) gin_trgm_ops) with (fastupdate = off)
  where node_type = 'organization';
-- Every reading searches the list of what is not yet in the index proper, so it is kept short.
create index nodes_path_gin on nodes using gin (path) with (gin_pending_list_limit = 256);
create unique index nodes_slug on nodes (parent_node_id, slug);
create index nodes_text on nodes
  using gin (gatehouse_node_text(name, slug) gin_trgm_ops, environment_id) with (fastupdate = off)
  where node_type <> 'organization';
${ofEnvironment('nodes')}

create table node_type_schemas (
  environment_id uuid primary key constraint node_type_schemas_environment_fk references environments (id) on delete cascade,
  account_id uuid not null constraint node_type_schemas_account_fk references accounts (id) on delete cascade,
  version integer not null,
  max_depth integer not null,
  node_types jsonb not null,
  updated_at timestamptz not null
);
create index node_type_schemas_account on node_type_schemas (account_id);
${ofEnvironment('node_type_schemas')}

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
${ofEnvironment('organizations')}

-- The nodes below some nodes.
create function gatehouse_subtree(account uuid, environment uuid, tops uuid[]) returns setof uuid
  language sql stable security definer cost 10000 rows 1000
  begin atomic
    select id from nodes where path && tops and account_id = account and environment_id = environment;
  end;

-- The CTE comes first, whatever the planner believes of the table's size.
create function gatehouse_matching_organizations(account uuid, environment uuid, pattern text) returns setof uuid
  language sql stable security definer cost 10000 rows 100
  begin atomic
    with found as materialized (
      select n.id, n.environment_id from nodes n
      where n.node_type = 'organization' and gatehouse_node_text(n.name, n.slug) ilike pattern and n.account_id = account
    )
    select id from found where environment_id = environment;
  end;

-- Each half uses the index of its kind of node; planned for each pattern (docs/decisions/0066).
create function gatehouse_matching_nodes(account uuid, environment uuid, pattern text, most integer) returns setof uuid
  language sql stable security definer cost 10000 rows 100 set plan_cache_mode = force_custom_plan
  begin atomic
    select found.id from (
      select n.id, n.account_id, n.environment_id from nodes n
      where n.node_type = 'organization' and gatehouse_node_text(n.name, n.slug) ilike pattern
      union all
      select n.id, n.account_id, n.environment_id from nodes n
      where n.node_type <> 'organization' and gatehouse_node_text(n.name, n.slug) ilike pattern) found
    where found.account_id = account and found.environment_id = environment limit most;
  end;
revoke execute on function gatehouse_subtree, gatehouse_matching_organizations, gatehouse_matching_nodes from public;
`;
