import type { AuthenticationPolicy } from '../../../entities/organization.js';
import type { Db } from '../../platform/db.js';
import { organizationsOf } from './belonging.js';

/** A way of signing in, as organizations allow it. */
export type SignInMethod = NonNullable<AuthenticationPolicy['allowed_methods']>[number];

/** What all organizations of a person ask of a sign-in: the strictest counts, whichever it is for. */
export interface SignInPolicy {
  allows: Record<SignInMethod, boolean>;
  requireMfa: boolean;
  requireSso: boolean;
  /** Whether the person belongs to the organization that the sign-in is for; true where it is for none. */
  belongs: boolean;
}

const methods = ['password', 'email_otp', 'passkey', 'sso'] as const satisfies readonly SignInMethod[];
const requires = (what: 'require_mfa' | 'require_sso') =>
  `coalesce(bool_or((authentication_policy->>'${what}')::boolean), false)`;

const statement = {
  name: 'sign_in_policy_of_identity',
  text: `
select json_build_object(${methods.map((method) => `'${method}', coalesce(bool_and(coalesce(allowed ? '${method}', true)), true)`).join(', ')}) as allows,
  ${requires('require_mfa')} as "requireMfa", ${requires('require_sso')} as "requireSso",
  $3::uuid is null or coalesce(bool_or(id = $3), false) as belongs
from (select o.id, o.authentication_policy, nullif(o.authentication_policy->'allowed_methods', 'null') as allowed
  from ${organizationsOf('$1', '$2')}) mine`,
};

/** @param organizationId the one that the sign-in is for, if any */
export type SignInPolicyOf = (
  environmentId: string,
  identityId: string,
  organizationId: string | null,
) => Promise<SignInPolicy>;

/** What the active organizations of an Identity ask of it (contract §5, authentication policy). */
export const createSignInPolicy =
  ({ db }: { db: Pick<Db, 'statement'> }): SignInPolicyOf =>
  async (...asked) =>
    (await db.statement<SignInPolicy>(statement, asked))[0] as SignInPolicy;
