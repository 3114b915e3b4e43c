import { isActive } from '../hierarchy/active.js';

/**
 * SQL, to follow `from`: the organizations that an Identity belongs to, `o` with its node `n`, as long as they and all above
 * them are active. Each `offset 0` goes from key to key, whatever the planner believes of the tables when it plans once.
 */
export const organizationsOf = (environment: string, identity: string): string => `
(select * from organization_members where identity_id = ${identity} offset 0) om
  cross join lateral (select * from organizations where id = om.organization_id offset 0) o
  cross join lateral (select id, name, slug, path from nodes where id = om.organization_id offset 0) n
where om.environment_id = ${environment}
  and ${isActive('n.path')}`;

/** SQL: whether an Identity belongs to an organization that is active. */
export const belongsTo = (organization: string, environment: string, identity: string): string =>
  `exists (select from ${organizationsOf(environment, identity)} and om.organization_id = ${organization})`;

/** SQL: whether an active organization of an Identity requires MFA of it. */
export const requiredToHaveMfa = (environment: string, identity: string): string =>
  `exists (select from ${organizationsOf(environment, identity)} and (o.authentication_policy->>'require_mfa')::boolean)`;

const shortest = `min((o.authentication_policy->>'session_ttl_seconds')::integer)`;
/** Without one, its place in the tree is not looked at. */
const saysHowLong = `o.authentication_policy->'session_ttl_seconds' <> 'null'`;
const endedAfter = (end: string, authenticatedAt: string, lasting: string) =>
  `least(${end}, ${authenticatedAt} + interval '1 second' * ${lasting})`;

/**
 * SQL: when something ends that was given for a sign-in. At `end`, or earlier where an organization of the person says how long
 * a sign-in lasts: the shortest counts, from the moment at which the first factor was proved.
 */
export const endedByPolicy = (end: string, authenticatedAt: string, environment: string, identity: string): string =>
  endedAfter(
    end,
    authenticatedAt,
    `(select ${shortest} from ${organizationsOf(environment, identity)} and ${saysHowLong})`,
  );

/** What was given to somebody for a sign-in, as SQL. */
export interface GivenForSignIn {
  /** When it ends, if no organization says otherwise. */
  end: string;
  authenticatedAt: string;
  environment: string;
  identity: string;
  /** The organization that the sign-in was for, if for one. */
  organization: string;
}

/**
 * SQL, to be joined: `ends_at`, as `endedByPolicy` says, and whether the person still `belongs` to the organization that the
 * sign-in was for. Together, because PostgreSQL prepares all tables of a look, which costs more than the look.
 */
export const standingInOrganizations = (given: GivenForSignIn): string => `lateral (
  select ${endedAfter(given.end, given.authenticatedAt, shortest)} as ends_at,
    ${given.organization} is null or coalesce(bool_or(om.organization_id = ${given.organization}), false) as belongs
  from ${organizationsOf(given.environment, given.identity)}
    and (${saysHowLong} or om.organization_id = ${given.organization})
  offset 0)`;
