import { isActive } from '../hierarchy/active.js';

/**
 * SQL, to follow `from`: the organizations to which an Identity belongs, `o` with its node `n`, as long as they and
 * everything above them are active. Each `offset 0` goes from key to key, whatever the planner believes of the tables
 * when it plans once.
 */
export const organizationsOf = (environment: string, identity: string): string => `
(select * from organization_members where identity_id = ${identity} offset 0) om
  cross join lateral (select * from organizations where id = om.organization_id offset 0) o
  cross join lateral (select id, name, slug, path from nodes where id = om.organization_id offset 0) n
where om.environment_id = ${environment}
  and ${isActive('n.path')}`;

/** SQL: whether an Identity belongs to an active organization. */
export const belongsTo = (organization: string, environment: string, identity: string): string =>
  `exists (select from ${organizationsOf(environment, identity)} and om.organization_id = ${organization})`;

/** SQL: whether an active organization of an Identity requires MFA of it. */
export const requiredToHaveMfa = (environment: string, identity: string): string =>
  `exists (select from ${organizationsOf(environment, identity)} and (o.authentication_policy->>'require_mfa')::boolean)`;

const shortest = `min((o.authentication_policy->>'session_ttl_seconds')::integer)`;
/** SQL: whether the policy limits sessions; if it does not, the organization's place in the tree need not be read. */
const saysHowLong = `o.authentication_policy->'session_ttl_seconds' <> 'null'`;
const endedAfter = (end: string, authenticatedAt: string, lasting: string) =>
  `least(${end}, ${authenticatedAt} + interval '1 second' * ${lasting})`;

/**
 * SQL: when something ends that was given for a sign-in: at `end`, or earlier if an organization of the person limits
 * how long a sign-in lasts. The shortest limit counts, from the moment at which the first factor was proved.
 */
export const endedByPolicy = (end: string, authenticatedAt: string, environment: string, identity: string): string =>
  endedAfter(
    end,
    authenticatedAt,
    `(select ${shortest} from ${organizationsOf(environment, identity)} and ${saysHowLong})`,
  );

/** Something that was given to a person for a sign-in, as SQL. */
export interface GivenForSignIn {
  /** When it ends, unless an organization limits it. */
  end: string;
  authenticatedAt: string;
  environment: string;
  identity: string;
  /** The organization that the sign-in was for, if any. */
  organization: string;
}

/**
 * SQL, to be joined: `ends_at`, as by `endedByPolicy`, and whether the person still `belongs` to the organization of
 * the sign-in. Together, because PostgreSQL prepares every table of a query, which costs more than reading it.
 */
export const belongingOfSignIn = (given: GivenForSignIn): string => `lateral (
  select ${endedAfter(given.end, given.authenticatedAt, shortest)} as ends_at,
    ${given.organization} is null or coalesce(bool_or(om.organization_id = ${given.organization}), false) as belongs
  from ${organizationsOf(given.environment, given.identity)}
    and (${saysHowLong} or om.organization_id = ${given.organization})
  offset 0)`;
