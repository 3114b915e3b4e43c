import type { AuthenticationPolicy } from '../../../entities/organization.js';
import { organizationsOf } from './belonging.js';

/** A way to sign in, as organizations allow it. */
export type SignInMethod = NonNullable<AuthenticationPolicy['allowed_methods']>[number];

/** An SSO connection by which a person can sign in, and its organization's name; null for one of the Environment. */
export interface OfferedConnection {
  id: string;
  name: string | null;
}

/**
 * What all organizations of a person together require of a sign-in: the strictest applies, for every sign-in.
 */
export interface SignInPolicy {
  allows: Record<SignInMethod, boolean>;
  requireMfa: boolean;
  requireSso: boolean;
  /** Whether the sign-in's connection satisfies each organization that requires SSO. */
  ssoSatisfied: boolean;
  /** Active connections of the organizations that require SSO. */
  connections: OfferedConnection[];
  /** Whether an organization that requires SSO has no connection of its own, in any state. */
  takesEnvironments: boolean;
  /** Whether the person belongs to the organization of the sign-in; true if there is none. */
  belongs: boolean;
}

const methods = ['password', 'email_otp', 'passkey', 'sso'] as const satisfies readonly SignInMethod[];
/** SQL: whether any of the organizations requires something. */
const anyRequires = (what: 'require_mfa' | 'require_sso') =>
  `coalesce(bool_or((authentication_policy->>'${what}')::boolean), false)`;

/** SQL: whether one of them requires SSO. */
const organizationRequiresSso = `coalesce((authentication_policy->>'require_sso')::boolean or allowed = '["sso"]', false)`;
/**
 * SQL: whether an organization accepts the connection of a sign-in: its own, since another one's provider must not speak
 * for its members; without any, those of the Environment, which the Account's developers have made.
 */
const acceptsConnection = (
  environment: string,
  connection: string,
) => `case when own is not null then (own->>'id')::uuid = ${connection}
  else exists (select from sso_connections where id = ${connection} and environment_id = ${environment} and organization_id is null) end`;

/** The SQL for the values of the policy's query. */
export interface PolicyQuestion {
  environment: string;
  identity: string;
  /** The organization that the sign-in is for, if any. */
  organization: string;
  /** The SSO connection by which it came, if any. */
  connection: string;
}

/** SQL: a `SignInPolicy`, always one row: what the active organizations of an Identity require (contract §5). */
export const signInPolicySql = ({ environment, identity, organization, connection }: PolicyQuestion): string => `
select json_build_object(${methods.map((method) => `'${method}', coalesce(bool_and(coalesce(allowed ? '${method}', true)), true)`).join(', ')}) as allows,
  ${anyRequires('require_mfa')} as "requireMfa", ${anyRequires('require_sso')} as "requireSso",
  ${connection}::uuid is not null and coalesce(bool_and(not ${organizationRequiresSso} or ${acceptsConnection(environment, connection)}), true) as "ssoSatisfied",
  coalesce(json_agg(json_build_object('id', own->>'id', 'name', name) order by name, id)
    filter (where own->>'status' = 'active' and ${organizationRequiresSso}), '[]') as connections,
  coalesce(bool_or(own is null and ${organizationRequiresSso}), false) as "takesEnvironments",
  ${organization}::uuid is null or coalesce(bool_or(id = ${organization}), false) as belongs
from (select o.id, n.name, o.authentication_policy, nullif(o.authentication_policy->'allowed_methods', 'null') as allowed,
    (select jsonb_build_object('id', id, 'status', status) from sso_connections where organization_id = o.id) as own
  from ${organizationsOf(environment, identity)}) mine`;
