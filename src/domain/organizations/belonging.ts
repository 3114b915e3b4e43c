/**
 * SQL, to follow `from`: the organizations that an Identity belongs to, `o` with its node `n`, as long as they and all above
 * them are active. Each `offset 0` goes from key to key, whatever the planner believes of the tables when it plans once.
 */
export const organizationsOf = (environment: string, identity: string): string => `
organization_members om
  cross join lateral (select * from organizations where id = om.organization_id offset 0) o
  cross join lateral (select id, name, slug, path from nodes where id = om.organization_id offset 0) n
where om.identity_id = ${identity} and om.environment_id = ${environment}
  and not exists (select from nodes a where a.id = any(n.path) and a.status = 'inactive')`;

/** SQL: whether an Identity belongs to one organization, which is active with all above it. */
export const belongsTo = (organization: string, environment: string, identity: string): string =>
  `exists (select from ${organizationsOf(environment, identity)} and om.organization_id = ${organization})`;
