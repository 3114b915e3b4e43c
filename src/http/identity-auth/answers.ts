import { Type } from 'typebox';
import { factorKinds } from '../../../entities/environment-settings.js';
import type { ApiLogin } from '../../domain/logins/api-sign-in.js';
import type { Clock } from '../../platform/clock.js';
import { Id, NamedView, Nullable, OneOf, Resource, Timestamp } from '../surfaces/schemas.js';

const Challenge = Type.Object({
  challenge_token: Type.String({ description: 'For `mfa/challenge/…`; works once.' }),
  available_factors: Type.Array(OneOf(factorKinds)),
  expires_at: Timestamp,
});

/** The specification's identity login result; the last three fields are for clients without cookies. */
export const LoginResult = Resource('SignInResult', {
  requires_application_selection: Type.Boolean({
    description:
      'The person is not an active member of this environment, but of others of the same account and type. Continue with ' +
      '`select-application`.',
  }),
  requires_mfa_challenge: Type.Boolean({ description: 'Continue with one of `mfa/challenge/…`.' }),
  expires_in: Type.Integer({
    description: 'Lifetime of the access token in seconds; without one, that of the challenge or selection token.',
  }),
  identity: Type.Object({
    id: Id,
    email: Type.String(),
    first_name: Nullable(Type.String()),
    last_name: Nullable(Type.String()),
  }),
  access_token: Nullable(Type.String({ description: 'A JWT (RFC 9068), as issued by the token endpoint.' })),
  token_type: Nullable(OneOf(['Bearer'])),
  applications: Nullable(Type.Array(NamedView, { description: 'The applications to choose from.' })),
  mfa_challenge: Nullable(Challenge),
  mfa_enrollment_pending: Type.Boolean({
    description: 'A factor must be enrolled by `grace_expires_at`; until then, the session is a full one.',
  }),
  grace_expires_at: Nullable(Timestamp),
  refresh_token: Nullable(Type.String({ description: 'For `refresh` here, or for the token endpoint.' })),
  scope: Nullable(Type.String({ description: 'The scopes that were granted.' })),
  selection_token: Nullable(Type.String({ description: 'For `select-application`; works once, within five minutes.' })),
});

const nothing = {
  requires_application_selection: false,
  requires_mfa_challenge: false,
  access_token: null,
  token_type: null,
  applications: null,
  mfa_challenge: null,
  mfa_enrollment_pending: false,
  grace_expires_at: null,
  refresh_token: null,
  scope: null,
  selection_token: null,
};

/** Presents the result of a sign-in, with null for whatever this outcome does not have. */
export function presentLogin(login: ApiLogin, now: Clock) {
  const { id, email, firstName, lastName } = login.person;
  const identity = { id, email, first_name: firstName, last_name: lastName };
  if (login.outcome === 'signed_in') {
    const { tokens, graceExpiresAt } = login;
    const pending = graceExpiresAt && { mfa_enrollment_pending: true, grace_expires_at: graceExpiresAt.toISOString() };
    return { ...nothing, identity, ...tokens, ...pending };
  }
  const waiting = { ...nothing, identity, expires_in: secondsUntil(login.expiresAt, now()) };
  if (login.outcome === 'selection') {
    const { applications, token: selection_token } = login;
    return { ...waiting, requires_application_selection: true, applications, selection_token };
  }
  const { token: challenge_token, factors, expiresAt } = login;
  const mfa_challenge = { challenge_token, available_factors: factors, expires_at: expiresAt.toISOString() };
  return { ...waiting, requires_mfa_challenge: true, mfa_challenge };
}

const secondsUntil = (end: Date, now: Date) => Math.max(0, Math.floor((end.getTime() - now.getTime()) / 1000));
