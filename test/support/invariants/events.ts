import { existingEnvironments, type Invariant } from './statements.js';

/**
 * Kinds whose rows are created and deleted with an event: table, event prefix, which rows, event of the end, of the
 * start.
 */
const kinds: readonly [table: string, resource: string, where?: string, end?: string, begin?: string][] = [
  ['roles', 'role', 'system_key is null'],
  ['permissions', 'permission', `source = 'custom'`],
  ['nodes', 'node', 'parent_node_id is not null'],
  ['organizations', 'organization'],
  ['api_keys', 'api_key'],
  ['oauth_clients', 'oauth_client'],
  ['webhooks', 'webhook'],
  ['scim_groups', 'scim_group'],
  ['scim_tokens', 'scim_token', 'true', 'revoked'],
  ['scim_group_mappings', 'scim_group_mapping'],
  ['sso_connections', 'sso_connection'],
  ['role_assignments', 'role_assignment', 'removed_at is null'],
  ['administrator_roles', 'administrator_role', 'system_key is null'],
  ['applications', 'application', 'account_id is not null'],
  ['environments', 'environment', 'account_id is not null'],
];

const balanced = ([
  table,
  resource,
  where = 'true',
  end = 'deleted',
  begin = 'created',
]: (typeof kinds)[number]): Invariant => ({
  name: `events of ${table}`,
  text: `select '${resource} ' || coalesce(r.id, e.id) || ': ' || coalesce(e.begun, 0) || ' begun, ' || coalesce(e.ended, 0) || ' ended, ' || (r.id is not null) || ' there' as what
  from (select t.id::text as id from ${table} t where ${where.replaceAll(/^(\w)/g, 't.$1').replace('t.true', 'true')}) r
    full join (select v.resource_id as id, count(*) filter (where action = '${resource}.${begin}') as begun, count(*) filter (where action = '${resource}.${end}') as ended
      from events v where action in ('${resource}.${begin}', '${resource}.${end}') and outcome = 'success'
        and (${table === 'environments'} or environment_id is null or exists (select from ${existingEnvironments} s where s.id = v.environment_id))
        and exists (select from accounts a where a.id = v.account_id and a.closed_at is null) group by 1) e using (id)
  where coalesce(e.begun, 0) - coalesce(e.ended, 0) <> case when r.id is null then 0 else 1 end
    and not exists (select from ${table} gone where gone.id::text = coalesce(r.id, e.id) ${
      ['environments', 'applications'].includes(table)
        ? 'and false'
        : `and not exists (select from accounts a where a.id = gone.account_id and a.closed_at is null)`
    })`,
});

export const eventInvariants: readonly Invariant[] = [
  ...kinds.map(balanced),
  {
    name: 'events of identities',
    text: `select coalesce(m.identity_id, v.identity_id) || ' in ' || coalesce(m.environment_id, v.environment_id) || ': ' || coalesce(v.begun, 0) || ' created, '
      || coalesce(v.ended, 0) || ' deleted, member ' || (m.id is not null) as what
    from (select m.* from environment_memberships m join ${existingEnvironments} s on s.id = m.environment_id) m
      full join (select environment_id, resource_id::uuid as identity_id, count(*) filter (where action = 'identity.created') as begun,
          count(*) filter (where action = 'identity.deleted') as ended
        from events v where action in ('identity.created', 'identity.deleted') and environment_id is not null
          and exists (select from ${existingEnvironments} s where s.id = v.environment_id) group by 1, 2) v using (environment_id, identity_id)
    where coalesce(v.begun, 0) - coalesce(v.ended, 0) <> case when m.id is null then 0 else 1 end`,
  },
  {
    name: 'events of members',
    text: `select coalesce(m.organization_id::text, v.resource_id) || ' ' || coalesce(m.identity_id::text, v.who) || ': ' || coalesce(v.begun, 0) || ' added, ' || coalesce(v.ended, 0)
      || ' removed, member ' || (m.identity_id is not null) as what
    from (select m.*, m.organization_id::text as resource_id, m.identity_id::text as who from organization_members m) m
      full join (select resource_id, metadata->>'identity_id' as who, count(*) filter (where action = 'organization.member_added') as begun,
          count(*) filter (where action = 'organization.member_removed') as ended
        from events v where action in ('organization.member_added', 'organization.member_removed')
          and exists (select from organizations o join ${existingEnvironments} s on s.id = o.environment_id where o.id::text = v.resource_id) group by 1, 2) v using (resource_id, who)
    where coalesce(v.begun, 0) - coalesce(v.ended, 0) <> case when m.identity_id is null then 0 else 1 end
      and (m.environment_id is null or exists (select from ${existingEnvironments} s where s.id = m.environment_id))`,
  },
  {
    name: 'active by its events',
    text: `select m.identity_id || ' in ' || m.environment_id || ' is active ' || m.is_active || ' after ' || v.action as what
    from environment_memberships m join ${existingEnvironments} s on s.id = m.environment_id
      cross join lateral (select action from events where resource_id = m.identity_id::text and environment_id = m.environment_id
        and action in ('identity.created', 'identity.activated', 'identity.deactivated') order by created_at desc, id desc limit 1) v
    where m.is_active = (v.action = 'identity.deactivated') and not (v.action = 'identity.created')
      and not exists (select from erasures r where r.identity_id = m.identity_id)`,
  },
  {
    name: 'status by its events',
    text: `select c.id || ' is ' || c.status || ' after ' || v.action as what from sso_connections c
      cross join lateral (select action from events where resource_id = c.id::text and action ~ '^sso_connection.(activated|disabled|auto_disabled|created)$'
        order by created_at desc, id desc limit 1) v
    where (c.status = 'active') <> (v.action = 'sso_connection.activated')`,
  },
  ...(
    [
      ['identity_invites', 'identity_invite.', `t.intent <> 'organization'`, 'v.resource_id = t.id::text'],
      [
        'identity_invites',
        'organization.invitation_',
        `t.intent = 'organization'`,
        `v.metadata->>'invitation_id' = t.id::text`,
      ],
      ['administrator_invites', 'administrator_invite.', 'true', 'v.resource_id = t.id::text'],
    ] as const
  ).map(([table, prefix, where, of]) => ({
    name: `events of ${prefix}`,
    text: `select '${table} ' || t.id || ' is ' || t.status || ' after ' || coalesce(v.actions, 'nothing') as what from ${table} t
      cross join lateral (select string_agg(substr(action, ${prefix.length + 1}), ',' order by v.created_at, v.id) as actions from events v
        where ${of} and starts_with(action, '${prefix}') and substr(action, ${prefix.length + 1}) in ('created', 'accepted', 'revoked', 'expired', 'resent')) v
    where ${where} and coalesce(v.actions, '') !~ case t.status
      when 'pending' then '^created(,((expired|revoked),)?resent)*$' else '^created(,((expired|revoked),)?resent)*,' || t.status || '$' end`,
  })),
  {
    name: 'where events were',
    text: `select v.id || ' ' || v.action || ' is of another place' as what from events v join environments e on e.id = v.environment_id
      where e.account_id is not null and (v.account_id is distinct from e.account_id or v.application_id is distinct from e.application_id)
    union all select v.id || ' ' || v.action || ' has an actor without an id' from events v
      where actor_type in ('platform_admin', 'identity', 'api_key', 'scim_token') and actor_id is null
    union all select v.id || ' ' || v.action || ' has no account' from events v where account_id is null
      and action !~ '^(auth|signing_key|session|process|email)[.]'
    union all select v.id || ' ' || v.action || ' is of nothing' from events v where resource_id is null and outcome = 'success'
    union all select v.id || ' ' || v.action || ' is of the Account of an Application elsewhere' from events v join applications a on a.id = v.application_id
      where a.account_id is not null and a.account_id is distinct from v.account_id`,
  },
  {
    name: 'policies of organizations',
    text: `select o.id || ' has policy version ' || o.authentication_policy_version || ' after ' || v.changes as what from organizations o
      cross join lateral (select count(*) as changes from events where resource_id = o.id::text and action = 'organization.updated'
        and metadata ? 'authentication_policy') v
    where o.authentication_policy_version <> 1 + v.changes`,
  },
];
