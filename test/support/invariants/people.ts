import { existingEnvironments, type Invariant } from './statements.js';

/** Rows that would let a person in or act for them, although they are let in nowhere. */
const ofNobody = (table: string, and: string) => `
select '${table} ' || r.id || ' of ' || r.identity_id || ', who is not let in' as what
from ${table} r join ${existingEnvironments} e on e.id = r.environment_id
where ${and} and not exists (select from environment_memberships m
  where m.environment_id = r.environment_id and m.identity_id = r.identity_id and m.is_active)`;

/** Rows of a person in an Environment that should have ended with the membership. */
const ofStranger = (table: string, id: string, and = 'true') => `
select '${table} ' || ${id} || ' of ' || r.identity_id || ', who is no member of ' || r.environment_id as what
from ${table} r join ${existingEnvironments} e on e.id = r.environment_id
where r.identity_id is not null and ${and} and not exists (select from environment_memberships m
  where m.environment_id = r.environment_id and m.identity_id = r.identity_id)`;

/** People, what they hold, and the directories that they come from. */
export const peopleInvariants: readonly Invariant[] = [
  { name: 'sessions', text: ofNobody('sessions', 'r.revoked_at is null and r.expires_at > now()') },
  {
    name: 'grants', // a grant of an ended session opens nothing, and may have been created at that moment
    text: ofNobody(
      'grants',
      `r.revoked_at is null and r.expires_at > now()
        and exists (select from sessions where id = r.session_id and revoked_at is null)`,
    ),
  },
  { name: 'sign-ins under way', text: ofNobody('pending_sign_ins', 'r.completed_at is null and r.expires_at > now()') },
  {
    name: 'grants and their session',
    text: `select g.id || ' is not of its session''s person' as what from grants g join sessions s on s.id = g.session_id
    where g.identity_id <> s.identity_id or g.environment_id <> s.environment_id`,
  },
  {
    name: 'chains of refresh tokens',
    text: `select family_id || ' has ' || count(*) || ' unspent tokens' as what from refresh_tokens where spent_at is null
      group by family_id having count(*) > 1`,
  },
  { name: 'members of organizations', text: ofStranger('organization_members', 'r.organization_id') },
  { name: 'assignments', text: ofStranger('role_assignments', 'r.id', 'r.removed_at is null') },
  { name: 'graces', text: ofStranger('mfa_graces', 'r.id', `r.status = 'running'`) },
  { name: 'consents', text: ofStranger('consents', 'r.oauth_client_id') },
  { name: 'trusted devices', text: ofStranger('trusted_devices', 'r.id') },
  {
    name: 'links',
    text: ofStranger(
      'identity_links',
      'r.id',
      `r.used_at is null and r.expires_at > now() and not r.joins and r.purpose <> 'known_address'`,
    ),
  },
  {
    name: 'assignments are within their Environment',
    text: `select a.id || ' crosses Environments' as what from role_assignments a join nodes n on n.id = a.node_id join roles r on r.id = a.role_id
    where n.environment_id <> a.environment_id or r.environment_id <> a.environment_id`,
  },
  {
    name: 'windows that run',
    text: `select w.id || ' runs and has nothing ahead' as what from role_assignment_windows w join role_assignments a on a.id = w.id
    where w.status = 'running' and (a.removed_at is not null or not (coalesce(a.effective_from > w.told_until, false) or coalesce(a.effective_to > w.told_until, false)))`,
  },
  {
    name: 'what directories give',
    text: `select s.assignment_id || ' is of no group' as what from scim_assignments s join role_assignments a on a.id = s.assignment_id
    where a.removed_at is null and not exists (
      select from scim_group_members gm join scim_groups g on g.id = gm.group_id and g.directory_id = s.directory_id
        join scim_group_mappings p on p.directory_id = g.directory_id and (p.group_id = g.id or p.group_name_key = g.display_name_key)
      where gm.identity_id = a.identity_id and p.role_id = a.role_id and p.node_id = a.node_id)`,
  },
  {
    name: 'what groups are to have',
    text: `select gm.identity_id || ' lacks ' || p.role_id || ' at ' || p.node_id as what
    from scim_group_members gm join scim_groups g on g.id = gm.group_id join ${existingEnvironments} e on e.id = g.environment_id
      join scim_group_mappings p on p.directory_id = g.directory_id and (p.group_id = g.id or p.group_name_key = g.display_name_key)
      join nodes n on n.id = p.node_id
    where (g.organization_id is null or (g.organization_id = any(n.path)
        and exists (select from organization_members o where o.organization_id = g.organization_id and o.identity_id = gm.identity_id)))
      and not exists (select from role_assignments a where a.identity_id = gm.identity_id and a.role_id = p.role_id and a.node_id = p.node_id
        and a.removed_at is null and (a.effective_to is null or a.effective_to > now()))`,
  },
  {
    name: 'directories',
    text: `select t.kind || ' ' || t.id || ' is of another directory' as what from (
      select 'group' as kind, id, directory_id, organization_id, environment_id from scim_groups
      union all select 'mapping', id, directory_id, organization_id, environment_id from scim_group_mappings
      union all select 'user', identity_id, directory_id, organization_id, environment_id from scim_users) t
    where t.directory_id <> coalesce(t.organization_id, t.environment_id)
    union all select 'key of ' || id from scim_groups where display_name_key <> lower(display_name)
    union all select 'key of ' || identity_id from scim_users where user_name_key <> lower(user_name)
    union all select 'key of ' || id from scim_group_mappings where group_name_key <> lower(group_name) or (group_name is null) <> (group_name_key is null)
    union all select gm.identity_id || ' is in a group of a directory that does not provision them' from scim_group_members gm
      join scim_groups g on g.id = gm.group_id
      where not exists (select from scim_users u where u.environment_id = g.environment_id and u.identity_id = gm.identity_id and u.directory_id = g.directory_id)
    union all select u.identity_id || ' is kept out and let in' from scim_users u
      join environment_memberships m on m.environment_id = u.environment_id and m.identity_id = u.identity_id
      where u.is_suspended and u.organization_id is null and m.is_active
    union all select m.identity_id || ' is kept out by ' || m.kept_out_by || ' and let in' from environment_memberships m where m.kept_out_by is not null and m.is_active`,
  },
  {
    name: 'routes of webhooks',
    text: `select coalesce(w.id, r.webhook_id) || ' ' || coalesce(w.event_type, r.event_type) || ': subscribed ' || (w.id is not null) || ', routed ' || (r.webhook_id is not null) as what
    from (select id, unnest(event_types) as event_type, coalesce(environment_id, account_id) as scope_id from webhooks where is_active
        union all select id, unnest(array['identity.signed_out', 'identity.sessions_revoked']), environment_id from oauth_clients
        where backchannel_logout_uri is not null and environment_id in (select id from environments where account_id is not null)) w
      full join webhook_routes r on r.webhook_id = w.id and r.event_type = w.event_type and r.scope_id = w.scope_id
    where w.id is null or r.webhook_id is null`,
  },
  {
    name: 'recovery codes',
    text: `select c.identity_id || ' has codes of generation ' || c.generation as what from recovery_codes c join identities i on i.id = c.identity_id
    where c.generation <> i.recovery_codes_generation
    union all select user_id || ' has codes of several generations' from user_recovery_codes group by user_id having count(distinct generation) > 1
    union all select organization_id || ' has codes of several generations' from sso_recovery_codes group by organization_id having count(distinct generation) > 1`,
  },
  {
    name: 'invites',
    text: `select id || ' is ' || status || ' into no organization' as what from identity_invites i
      where intent = 'organization' and status = 'pending' and organization_id is null
    union all select id || ' leads into an organization' from identity_invites where intent <> 'organization' and organization_id is not null
    union all select id || ' is accepted by nobody' from identity_invites where status = 'accepted' and identity_id is null
    union all select id || ' is into another Environment''s organization' from identity_invites i
      where organization_id is not null and not exists (select from organizations o where o.id = i.organization_id and o.environment_id = i.environment_id)
    union all select id || ' waits after its time' from identity_invites where status = 'pending' and expires_at < now() - interval '1 minute'
    union all select id || ' waits without a role' from administrator_invites where status = 'pending' and role_id is null
    union all select id || ' has roles at no node' from identity_invites where intent <> 'organization' and (role_ids = '{}') <> (node_id is null)`,
  },
];
