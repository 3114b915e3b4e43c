/**
 * SQL: the Environment's own connection to send an Identity to. An organization that requires SSO and has no connection
 * of its own accepts all of the Environment's. Active ones come first; of those the one that knows the person, else the
 * default, else the oldest.
 */
export const environmentConnection = (environment: string, identity: string): string => `
select c.id, c.status from sso_connections c
  left join sso_links l on l.connection_id = c.id and l.identity_id = ${identity}
where c.environment_id = ${environment} and c.organization_id is null
order by c.status = 'active' desc, l.last_login_at desc nulls last,
  c.id is not distinct from (select default_sso_connection_id from environment_settings where environment_id = ${environment}) desc,
  c.created_at, c.id
limit 1`;
