/** A rule for the rows of a service at rest: its statement returns the rows that break it. */
export interface Invariant {
  name: string;
  /** Returns a `what` for each wrong row. */
  text: string;
}

/** Environments that have an owner: those being removed lose their rows in any order. */
export const existingEnvironments =
  '(select e.id, e.account_id, e.application_id from environments e where e.account_id is not null)';
const counted = (name: string, table: string) => `
select '${name} of ' || e.id || ': ' || c.counted || ' counted, ' || t.there || ' there' as what
from ${existingEnvironments} e
  cross join lateral (select coalesce(sum(value), 0) as counted from (
    select value from counters where environment_id = e.id and name = '${name}'
    union all select value from counter_stripes where environment_id = e.id and name = '${name}') parts) c
  cross join lateral (select count(*) as there from ${table} where environment_id = e.id) t
where c.counted <> t.there`;

const lost = (table: string, column: string, of: string, and = 'true') => `
select '${table}.${column} ' || r.${column} || ' is nothing' as what from ${table} r
where r.${column} is not null and ${and} and not exists (select from ${of})`;

const ended = (table: string, open: string, at = 'ended_at') => `
select '${table} ' || id || ' is ' || status || ' since ' || coalesce(${at}::text, 'never') as what
from ${table} where (status in (${open})) <> (${at} is null)`;

const versioned = (table: string, key: string, actions: string, from = 1) => `
select '${table} ' || t.${key} || ' has version ' || t.version || ' after ' || c.changes || ' changes' as what
from ${table} t join ${existingEnvironments} s on s.id = t.environment_id
  cross join lateral (select count(*) as changes from events where resource_id = t.${key}::text and action in (${actions})
    and outcome = 'success') c
where t.version <> ${from} + c.changes`;

export const invariants: readonly Invariant[] = [
  { name: 'identities', text: counted('identities', 'environment_memberships') },
  { name: 'nodes', text: counted('nodes', 'nodes') },
  { name: 'organizations', text: counted('organizations', 'organizations') },
  {
    name: 'numbers of an organization',
    text: `select o.id || ': ' || o.member_count || ' members and ' || o.pending_invite_count || ' invitations, there are '
      || m.there || ' and ' || i.there as what
    from organizations o join ${existingEnvironments} e on e.id = o.environment_id
      cross join lateral (select count(*) as there from organization_members where organization_id = o.id) m
      cross join lateral (select count(*) as there from identity_invites where organization_id = o.id and status = 'pending') i
    where o.member_count <> m.there or o.pending_invite_count <> i.there`,
  },
  {
    name: 'members of a group',
    text: `select id || ': at most ' || members_at_most as what from scim_groups g
    where members_at_most < (select count(*) from scim_group_members where group_id = g.id)`,
  },
  {
    name: 'counts of events',
    text: `select coalesce(c.account_id, t.account_id) || ' ' || coalesce(c.action, t.action) || ': ' || coalesce(c.value, 0) || ' counted, ' || coalesce(t.value, 0) || ' there' as what
    from (select account_id, action, sum(value) as value from event_counts group by 1, 2) c
      full join (select coalesce(account_id, '00000000-0000-0000-0000-000000000000') as account_id, action, count(*) as value from events
        where transaction_id < (select counted_below from event_state) and customer_visible and account_id is not null group by 1, 2) t
      using (account_id, action)
    where coalesce(c.value, 0) <> coalesce(t.value, 0)`,
  },
  {
    name: 'attempts of deliveries',
    text: `select d.id || ': ' || d.attempt_count || ', there are ' || a.there as what from webhook_deliveries d
      cross join lateral (select count(*) as there from webhook_attempts where delivery_id = d.id) a
    where d.attempt_count <> a.there`,
  },
  {
    name: 'paths',
    text: `select n.id || ' is not below its parent' as what from nodes n left join nodes p on p.id = n.parent_node_id
    where n.path <> coalesce(p.path, '{}') || n.id or p.environment_id <> n.environment_id`,
  },
  {
    name: 'organizations are nodes',
    text: `select coalesce(n.id, o.id) || ' is half an organization' as what
    from (select nodes.id from nodes join ${existingEnvironments} e on e.id = nodes.environment_id where node_type = 'organization') n
      full join (select o.id from organizations o join ${existingEnvironments} e on e.id = o.environment_id) o on o.id = n.id
    where n.id is null or o.id is null`,
  },
  {
    name: 'types and depth of nodes',
    text: `select n.id || ' is a ' || n.node_type || ' at depth ' || cardinality(n.path) - 1 as what
    from nodes n join ${existingEnvironments} e on e.id = n.environment_id join node_type_schemas s on s.environment_id = n.environment_id
      join nodes p on p.id = n.parent_node_id
    where cardinality(n.path) - 1 > s.max_depth or not exists (
      select from jsonb_array_elements(s.node_types) t where t->>'key' = n.node_type
        and case when p.node_type = 'root' then (t->>'can_be_root')::boolean else t->'allowed_parents' ? p.node_type end)`,
  },
  {
    name: 'an Environment is whole',
    text: `select e.id || ' lacks something' as what from ${existingEnvironments} e
    where not exists (select from environment_settings where environment_id = e.id)
      or not exists (select from node_type_schemas where environment_id = e.id)
      or (select count(*) from nodes where environment_id = e.id and parent_node_id is null) <> 1
      or not exists (select from roles where environment_id = e.id and system_key is not null)
      or not exists (select from permissions where environment_id = e.id and source = 'system')
      or not exists (select from applications a where a.id = e.application_id and a.account_id = e.account_id)`,
  },
  {
    name: 'an Account is whole',
    text: `select a.id || ' lacks something' as what from accounts a
    where a.closed_at is null and (
      (select count(*) from subscriptions where account_id = a.id) <> 1
      or (select count(*) from administrator_roles where account_id = a.id and system_key is not null) <> 5
      or not exists (select from membership_roles m join administrator_roles r on r.id = m.role_id
        where m.account_id = a.id and r.system_key = 'owner' and m.limits is null))`,
  },
  {
    name: 'a closed Account has nobody',
    text: `select a.id || ' is closed and has ' || t.kind as what from accounts a join (
      select account_id, 'members' as kind from memberships
      union select account_id, 'invites' from administrator_invites where status = 'pending'
      union select account_id, 'claims' from sso_domains where organization_id is null
      union select account_id, 'connections' from sso_connections where scope = 'admin'
      union select account_id, 'webhooks' from webhooks where is_active
      union select account_id, 'Applications' from applications
      union select account_id, 'sessions' from user_sessions) t on t.account_id = a.id
    where a.closed_at is not null`,
  },
  {
    name: 'administrators',
    text: `select m.id || ' has no role' as what from memberships m
    where not exists (select from membership_roles where membership_id = m.id)
    union all select s.id || ' is of an Application of another Account' from user_sessions s
    where s.application_id is not null and not exists (select from applications where id = s.application_id and account_id = s.account_id)
    union all select user_id || ' ' || application_id || ': a state of no member' from user_application_states s
    where not exists (select from memberships where account_id = s.account_id and user_id = s.user_id)`,
  },
  {
    name: 'limits name what is there',
    text: `select l.what || ' is limited to ' || kind || ' ' || x.id || ', which is gone' as what
    from (select membership_id::text as what, account_id, limits from membership_roles where limits is not null
        union all select id::text, account_id, limits from administrator_invites where limits is not null and status = 'pending') l
      cross join lateral (
        select 'application' as kind, jsonb_array_elements_text(limits->'application_ids')::uuid as id
        union all select 'environment', jsonb_array_elements_text(limits->'environment_ids')::uuid
        union all select 'node', jsonb_array_elements_text(limits->'node_ids')::uuid) x
    where not exists (
      select from applications a where a.id = x.id and a.account_id = l.account_id and kind = 'application'
      union all select from environments e where e.id = x.id and e.account_id = l.account_id and kind = 'environment'
      union all select from nodes n join environments e on e.id = n.environment_id
        where n.id = x.id and e.account_id = l.account_id and kind = 'node')`,
  },
  {
    name: 'what is being removed has a removal',
    text: `select e.id || ' is nobody''s and is not being removed' as what from environments e
    where e.account_id is null and not exists (select from environment_removals where environment_id = e.id and status <> 'completed')
    union all select a.id || ' is nobody''s and nothing of it is being removed' from applications a
    where a.account_id is null and not exists (select from environment_removals where application_id = a.id and status <> 'completed')
    union all select r.id || ' is completed and its Environment there' from environment_removals r
    where r.status = 'completed' and exists (select from environments where id = r.environment_id)
    union all select r.id || ' is completed and its Identity there' from erasures r
    where r.status = 'completed' and exists (select from identities where id = r.identity_id)`,
  },
  ...['identity_invites', 'administrator_invites'].map((table) => ({
    name: `${table} ended`,
    text: ended(table, `'pending'`),
  })),
  { name: 'emails ended', text: ended('emails', `'pending'`) },
  { name: 'erasures ended', text: ended('erasures', `'running'`) },
  { name: 'removals ended', text: ended('environment_removals', `'running'`) },
  { name: 'graces ended', text: ended('mfa_graces', `'running'`) },
  { name: 'windows ended', text: ended('role_assignment_windows', `'running'`) },
  { name: 'registrations ended', text: ended('pending_registrations', `'pending'`) },
  { name: 'intents ended', text: ended('account_intents', `'parked', 'claimed'`) },
  { name: 'changes of addresses ended', text: ended('email_changes', `'pending'`) },
  { name: 'claims ended', text: ended('sso_domains', `'pending', 'verified', 'lapsed'`) },
  {
    name: 'connections',
    text: `select id || ' is ' || status || ' and was switched off ' || coalesce(auto_disabled_at::text, 'never') as what from sso_connections
      where (status = 'auto_disabled') <> (auto_disabled_at is not null)
    union all select s.environment_id || ' sends everybody to ' || c.id || ', which is ' || c.status from environment_settings s
      join sso_connections c on c.id = s.default_sso_connection_id where c.status <> 'active' or c.environment_id <> s.environment_id or c.organization_id is not null
    union all select c.id || ' gives a role of another Environment' from sso_connections c join roles r on r.id = c.default_role_id
      where r.environment_id is distinct from c.environment_id
    union all select s.id || ' goes on by ' || c.id || ', which is ' || c.status from sessions s join sso_connections c on c.id = s.sso_connection_id
      where s.revoked_at is null and c.status <> 'active'`,
  },
  ...(['authorization_codes', 'consents', 'grants', 'identity_links', 'pending_sign_ins'] as const).map((table) => ({
    name: `clients of ${table}`,
    text: lost(
      table,
      'oauth_client_id',
      `oauth_clients c where c.id = r.oauth_client_id union all select from removed_clients c where c.id = r.oauth_client_id`,
    ),
  })),
  {
    name: 'codes that were redeemed',
    text: lost('authorization_codes', 'grant_id', 'grants g where g.id = r.grant_id'),
  },
  {
    name: 'deliveries of no subscription',
    // One to a client without an address for logout tokens ends when it is due.
    text: `select d.id || ' waits for a subscription that is gone' as what from webhook_deliveries d
    where d.status = 'pending' and d.event_type <> 'backchannel_logout'
      and not exists (select from webhooks where id = d.webhook_id and is_active)`,
  },
  {
    name: 'clients that are gone',
    text: `select id || ' is there and removed' as what from removed_clients join oauth_clients using (id)`,
  },
  {
    name: 'nothing is under way',
    text: `select 'outbox ' || process || ' ' || input::text || ' ' || coalesce(last_error, '') as what from outbox
    union all select 'webhook queue ' || event_id from webhook_queue
    union all select 'mail ' || template || ' ' || id from emails where status = 'pending'
    union all select 'erasure ' || id from erasures where status = 'running'
    union all select 'removal ' || id from environment_removals where status = 'running'
    union all select 'intent ' || id from account_intents where status = 'claimed'`,
  },
  { name: 'versions of nodes', text: versioned('nodes', 'id', `'node.updated', 'node.moved'`) },
  { name: 'versions of permissions', text: versioned('permissions', 'id', `'permission.updated'`) },
  { name: 'versions of roles', text: versioned('roles', 'id', `'role.updated'`) },
  {
    name: 'versions of settings',
    text: versioned('environment_settings', 'environment_id', `'environment.settings_updated'`),
  },
  { name: 'versions of schemas', text: versioned('node_type_schemas', 'environment_id', `'node_type_schema.updated'`) },
];
