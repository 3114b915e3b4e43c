import { byPosition, createBatcher } from '../../platform/database/batching.js';
import type { Db } from '../../platform/database/db.js';
import { uuidArray } from '../../platform/database/uuid-array.js';
import type { AccountScope } from '../../platform/scope.js';
import { type MfaState, mfaStateSql, noMfaState } from '../mfa/state.js';
import { type SignInPolicy, signInPolicySql } from '../organizations/sign-in-policy.js';

/** The person of a sign-in, what it is for and how it came about. */
export interface SigningIn {
  identityId: string;
  /** The organization that the sign-in is for, if any. */
  organizationId: string | null;
  /** The SSO connection by which it came, if any. */
  ssoConnectionId: string | null;
}

/** Everything that decides how a sign-in continues after a factor. */
export interface SignInTerms {
  policy: SignInPolicy;
  mfa: MfaState;
}

export type TermsOf = (
  scope: Required<Pick<AccountScope, 'accountId' | 'environmentId'>>,
  of: SigningIn,
) => Promise<SignInTerms>;

const asked = {
  environment: 'asked.environment_id',
  identity: 'asked.identity_id',
  organization: 'asked.organization_id',
  connection: 'asked.connection_id',
};
// Both are read in one round trip, for all who sign in at the same time: every sign-in needs both.
const statement = {
  name: 'sign_in_terms_of_identities_in_place',
  text: `
select asked.position::int as position, row_to_json(policy) as policy, row_to_json(mfa) as mfa
from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[])
    with ordinality as asked (account_id, environment_id, identity_id, organization_id, connection_id, position)
  cross join lateral (${signInPolicySql(asked)}) policy
  left join lateral (${mfaStateSql('asked.account_id', asked.environment, asked.identity)} offset 0) mfa on true`,
};

type Scope = Parameters<TermsOf>[0];
interface Row {
  position: number;
  policy: SignInPolicy;
  mfa: MfaState | null;
}

/** What a person's organizations require of a sign-in, and which second factors the person has. */
export function createSignInTerms({ db }: { db: Pick<Db, 'statement'> }): TermsOf {
  const together = createBatcher<Scope & SigningIn, Row | undefined>(async (_environmentId, all) => {
    const rows = await db.statement<Row>(statement, [
      uuidArray(all.map(({ accountId }) => accountId)),
      uuidArray(all.map(({ environmentId }) => environmentId)),
      uuidArray(all.map(({ identityId }) => identityId)),
      uuidArray(all.map(({ organizationId }) => organizationId)),
      uuidArray(all.map(({ ssoConnectionId }) => ssoConnectionId)),
    ]);
    return byPosition(all, rows);
  });
  return async ({ accountId, environmentId }, of) => {
    const [terms] = await together(environmentId, [{ accountId, environmentId, ...of }]);
    const { policy, mfa } = terms as Row; // the policy is an aggregate, so there is always a row
    return { policy, mfa: mfa ?? noMfaState };
  };
}
