import type { AccountScope, Db } from '../../platform/db.js';
import { noStanding, type Standing, standingSql } from '../mfa/standing.js';
import { type SignInPolicy, signInPolicySql } from '../organizations/sign-in-policy.js';

/** Whose sign-in it is, what it is for and what it was by. */
export interface SigningIn {
  identityId: string;
  /** The organization that it is for, if for one. */
  organizationId: string | null;
  /** The SSO connection that it was by, if by one. */
  ssoConnectionId: string | null;
}

/** All that decides how a sign-in goes on after a factor. */
export interface SignInTerms {
  policy: SignInPolicy;
  standing: Standing;
}

export type TermsOf = (
  scope: Required<Pick<AccountScope, 'accountId' | 'environmentId'>>,
  of: SigningIn,
) => Promise<SignInTerms>;

const policy = { environment: '$2', identity: '$3', organization: '$4', connection: '$5' };
// One round trip for both: every sign-in asks both.
const statement = {
  name: 'sign_in_terms_of_identity_in_place',
  text: `
select row_to_json(policy) as policy, row_to_json(standing) as standing
from (${signInPolicySql(policy)}) policy left join (${standingSql('$1', '$2', '$3')}) standing on true`,
};

/** What a person's organizations ask of a sign-in, and how the person stands with second factors. */
export const createSignInTerms =
  ({ db }: { db: Pick<Db, 'statement'> }): TermsOf =>
  async ({ accountId, environmentId }, { identityId, organizationId, ssoConnectionId }) => {
    const values = [accountId, environmentId, identityId, organizationId, ssoConnectionId];
    const [terms] = await db.statement<{ policy: SignInPolicy; standing: Standing | null }>(statement, values);
    const { policy, standing } = terms as NonNullable<typeof terms>; // the policy is an aggregate: always one row
    return { policy, standing: standing ?? noStanding };
  };
