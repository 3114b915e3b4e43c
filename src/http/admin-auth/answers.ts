import { Type } from 'typebox';
import type { AccessToken } from '../../domain/users/admin-tokens.js';
import type { SignedIn } from '../../domain/users/outcomes.js';
import type { Named } from '../../domain/users/reachable.js';
import { NamedView, Nullable, OneOf, UserView } from '../surfaces/schemas.js';

export const Acr = OneOf(['urn:gatehouse:aal1', 'urn:gatehouse:aal2'], { description: '`aal2`: two factors.' });

export const TokenFields = {
  access_token: Type.String({ description: 'For the Portal API, as `Authorization: Bearer`.' }),
  token_type: OneOf(['Bearer']),
  expires_in: Type.Integer({ description: 'Seconds.' }),
};

/** A page, for callers with a browser. */
export const Html = { content: { 'text/html': { schema: Type.String() } } };

/** A started session; the creation of an account returns one, too. */
export const SignedInFields = {
  ...TokenFields,
  user: UserView,
  account: Nullable(NamedView),
  application: Nullable(NamedView),
  mfa_enrollment_required: Type.Boolean({
    description:
      'The account requires a second factor and the user has none: until they enroll one with this token, the Portal API ' +
      'refuses it in this account.',
  }),
};

export const presentToken = ({ accessToken, expiresIn }: AccessToken) => ({
  access_token: accessToken,
  token_type: 'Bearer' as const,
  expires_in: expiresIn,
});

export const presentSignedIn = ({ user, account, application, mfaEnrollmentRequired, ...token }: SignedIn) => ({
  ...presentToken(token),
  user: { id: user.id, email: user.email, first_name: user.firstName, last_name: user.lastName },
  account: account && presentNamed(account),
  application: application && presentNamed(application),
  mfa_enrollment_required: mfaEnrollmentRequired,
});

export const presentNamed = ({ id, name, slug }: Named) => ({ id, name, slug });
