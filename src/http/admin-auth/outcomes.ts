import { Type } from 'typebox';
import type { EnteredOutcome } from '../../domain/users/outcomes.js';
import type { ProviderOutcome } from '../../domain/users/sign-in.js';
import { NamedView, OneOf, Resource, Timestamp } from '../surfaces/schemas.js';
import { presentNamed, presentSignedIn, SignedInFields } from './answers.js';

const SignedInOutcome = Resource(
  'SignedInOutcome',
  { outcome: OneOf(['authenticated', 'account_required']), ...SignedInFields },
  {
    description:
      '`account_required`: signed in, without an account that this session may enter; `account` and `application` are ' +
      'null. If there are accounts that require single sign-on, and no identity provider speaks for the email address, ' +
      '`me` lists them.',
  },
);
const MfaRequired = Resource(
  'MfaRequiredOutcome',
  {
    outcome: OneOf(['mfa_required']),
    challenge_token: Type.String({ description: 'For one of `mfa/challenge/…`; works once, within ten minutes.' }),
    available_factors: Type.Array(OneOf(['totp', 'webauthn', 'recovery_code'])),
    expires_at: Timestamp,
  },
  { description: 'The credentials are correct, and the user has a second factor to verify. No session yet.' },
);
const SelectionRequired = Resource(
  'ApplicationSelectionRequiredOutcome',
  {
    outcome: OneOf(['application_selection_required']),
    selection_token: Type.String({ description: 'For `select-application`; works once, within five minutes.' }),
    applications: Type.Array(Resource('SelectableApplication', { ...NamedView.properties, account: NamedView })),
  },
  { description: 'Authentication is complete, and there are several applications to choose from. No session yet.' },
);
const SsoRequired = Resource(
  'SsoRequiredOutcome',
  {
    outcome: OneOf(['sso_required']),
    redirect_to: Type.String({
      description: 'Where to send the browser: `sso/start`, with the email address and application of this sign-in.',
    }),
  },
  {
    description:
      'The domain of the email address has an identity provider for administrators, and either the password was not ' +
      'accepted, or the account (that of the requested application, or every one) requires single sign-on. A password ' +
      'therefore gets this whether or not it is right, and whether or not the email address is known. No session.',
  },
);

/** The possible outcomes of a password. */
export const LoginOutcome = Type.Union([SignedInOutcome, MfaRequired, SelectionRequired, SsoRequired], {
  title: 'LoginOutcome',
});
/** The possible outcomes of a second factor, and of a passkey, which needs none. */
export const ChallengeOutcome = Type.Union([SignedInOutcome, SelectionRequired, SsoRequired], {
  title: 'ChallengeOutcome',
});

/** @param email as the person typed it, if they did: then the answer is the same whether or not anybody has it */
export function presentSsoRequired(
  baseUrl: string,
  { email, applicationId }: { email: string; applicationId?: string | undefined },
) {
  const query = new URLSearchParams({ email, ...(applicationId && { application_id: applicationId }) });
  return { outcome: 'sso_required' as const, redirect_to: `${baseUrl}/v1/auth/sso/start?${query}` };
}

/** Presents what a complete authentication led to: a session, or the choice of an application. */
export function presentEntered(result: Exclude<EnteredOutcome, { outcome: 'sso_required' }>) {
  if (result.outcome !== 'application_selection_required') {
    return { outcome: result.outcome, ...presentSignedIn(result) };
  }
  return {
    outcome: result.outcome,
    selection_token: result.selectionToken,
    applications: result.applications.map(({ account, ...application }) => ({
      ...presentNamed(application),
      account: presentNamed(account),
    })),
  };
}

/** Presents what a first factor led to. */
export function presentOutcome(result: ProviderOutcome) {
  if (result.outcome !== 'mfa_required') return presentEntered(result);
  const { outcome, challengeToken, availableFactors, expiresAt } = result;
  return {
    outcome,
    challenge_token: challengeToken,
    available_factors: availableFactors,
    expires_at: expiresAt.toISOString(),
  };
}
