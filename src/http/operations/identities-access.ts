import { Type } from 'typebox';
import { listQuery, paginated } from '../lists.js';
import { errors, operation } from '../operation.js';
import { Body, Id, listOf, Nullable, Resource, SessionEnd, single, Timestamp } from '../schemas.js';
import { changing, detailAfter, IdentityDetail, ofOne } from './identities-views.js';

const manage = { ...ofOne, ...changing } as const;
const detail = { 200: single(IdentityDetail), ...errors('identity.not_found') };

export const activateIdentity = operation({
  ...manage,
  id: 'activateIdentity',
  method: 'POST',
  path: '/identities/:id/activate',
  summary: 'Let an identity in again',
  description: 'In this Environment. Who is active already stays so.',
  events: ['identity.activated', 'identity.sessions_revoked', 'auth.identity_signed_out'],
  answers: detail,
  handle: ({ params, ...asking }) =>
    detailAfter(asking, () => asking.services.identityAdministration.setActive(asking.scope, params.id, true)),
});

export const deactivateIdentity = operation({
  ...manage,
  id: 'deactivateIdentity',
  method: 'POST',
  path: '/identities/:id/deactivate',
  summary: 'Keep an identity out',
  description:
    'In this Environment. Its sessions there end at once with every token that came from them, and its trusted devices are forgotten.',
  events: ['identity.deactivated', 'identity.sessions_revoked', 'auth.identity_signed_out'],
  answers: detail,
  handle: ({ params, ...asking }) =>
    detailAfter(asking, () => asking.services.identityAdministration.setActive(asking.scope, params.id, false)),
});

export const setIdentityPassword = operation({
  ...manage,
  id: 'setIdentityPassword',
  method: 'PUT',
  path: '/identities/:id/password',
  summary: 'Set the password of an identity',
  description:
    'By the rules of this Environment. The identity has one password in all Environments of the Account: its sessions end in all ' +
    'of them, and a mail says so.',
  body: Body({ password: Type.String({ minLength: 1, maxLength: 1024 }) }),
  events: ['identity.password_changed', 'identity.sessions_revoked'],
  answers: {
    ...detail,
    ...errors(
      'identity.not_found',
      'identity.holds_more',
      'identity.in_production',
      'password.breached',
      'password.context_specific',
      'validation.failed',
    ),
  },
  async handle({ params, body, ...asking }) {
    const { services, scope, caller } = asking;
    await services.assertStaysInTest(scope, caller, params.id);
    await services.assertMayTakeOver(scope, caller, params.id);
    return detailAfter(asking, () => services.identityAdministration.setPassword(scope, params.id, body.password));
  },
});

export const resetIdentityPassword = operation({
  ...manage,
  id: 'resetIdentityPassword',
  method: 'POST',
  path: '/identities/:id/password/reset',
  summary: 'Force an identity to choose a new password',
  description:
    'The password works no more, all sessions end, and a link to choose another one is mailed. It leads back to the client that ' +
    '`client_id` names, or else to the oldest of the Environment. Who is deactivated is mailed none, and where the Environment takes no passwords there is none to choose.',
  body: Nullable(Body({ client_id: Type.Optional(Type.String({ maxLength: 255 })) })),
  events: ['identity.password_changed', 'identity.sessions_revoked', 'auth.identity_password_link_requested'],
  answers: {
    ...detail,
    ...errors('identity.not_found', 'identity.in_production', 'oauth_client.not_found', 'validation.failed'),
  },
  async handle({ params, body, ...asking }) {
    const { services, scope, caller } = asking;
    await services.assertStaysInTest(scope, caller, params.id);
    return detailAfter(asking, () => services.identityAdministration.forceReset(scope, params.id, body?.client_id));
  },
});

export const verifyIdentityEmail = operation({
  ...manage,
  id: 'verifyIdentityEmail',
  method: 'POST',
  path: '/identities/:id/email/verify',
  summary: 'Mark the address of an identity as verified',
  events: ['identity.email_verified'],
  answers: { ...detail, ...errors('identity.not_found', 'identity.in_production') },
  async handle({ params, ...asking }) {
    const { services, scope, caller } = asking;
    await services.assertStaysInTest(scope, caller, params.id);
    return detailAfter(asking, () => services.identityAdministration.verifyEmail(scope, params.id));
  },
});

export const unlockIdentity = operation({
  ...manage,
  id: 'unlockIdentity',
  method: 'POST',
  path: '/identities/:id/unlock',
  summary: 'Let an identity try again',
  description:
    'Forgets the wrong passwords, codes and second factors that were counted, in all Environments of the Account: whoever guessed them, their ' +
    'owner is asked again at once. What is counted by network address stays, and so do mails that were sent. Each call is told of, also where nothing was counted.',
  events: ['identity.unlocked'],
  answers: { ...detail, ...errors('identity.not_found', 'identity.holds_more', 'identity.in_production') },
  async handle({ params, ...asking }) {
    const { services, scope, caller } = asking;
    await services.assertStaysInTest(scope, caller, params.id);
    await services.assertMayTakeOver(scope, caller, params.id); // without limits, what they know can be guessed
    return detailAfter(asking, () => services.identityAdministration.unlock(scope, params.id));
  },
});

const SessionView = Resource('IdentitySession', {
  id: Id,
  authenticated_at: Timestamp,
  created_at: Timestamp,
  expires_at: SessionEnd,
  ip_address: Nullable(Type.String()),
  user_agent: Nullable(Type.String()),
});

export const listIdentitySessions = operation({
  ...manage,
  id: 'listIdentitySessions',
  method: 'GET',
  path: '/identities/:id/sessions',
  summary: 'List the sessions of an identity',
  description:
    'In this Environment. One that is over is listed while a client still lives on what it was given. `q` looks into address and user agent.',
  query: listQuery(['created_at', 'authenticated_at']),
  answers: { 200: listOf(SessionView), ...errors('identity.not_found') },
  async handle({ services, scope, params, query: { sort_by: sortBy, ...page } }) {
    const found = await services.identityAdministration.sessions(scope, params.id, { ...page, sortBy });
    return paginated(found, (session) => ({
      id: session.id,
      authenticated_at: session.authenticatedAt,
      created_at: session.createdAt,
      expires_at: session.expiresAt,
      ip_address: session.ipAddress,
      user_agent: session.userAgent,
    }));
  },
});

export const endIdentitySessions = operation({
  ...manage,
  id: 'endIdentitySessions',
  method: 'DELETE',
  path: '/identities/:id/sessions',
  summary: 'End all sessions of an identity',
  description: 'In this Environment, with every token that came from them.',
  events: ['identity.sessions_revoked', 'auth.identity_signed_out'],
  answers: { 204: Type.Null(), ...errors('identity.not_found') },
  handle: ({ services, scope, params }) => services.identityAdministration.endSessions(scope, params.id),
});

export const endIdentitySession = operation({
  ...manage,
  id: 'endIdentitySession',
  method: 'DELETE',
  path: '/identities/:id/sessions/:session_id',
  summary: 'End a session of an identity',
  params: Type.Object({ id: Id, session_id: Id }),
  events: ['identity.sessions_revoked', 'auth.identity_signed_out'],
  answers: { 204: Type.Null(), ...errors('identity.not_found', 'session.not_found') },
  handle: ({ services, scope, params }) =>
    services.identityAdministration.endSessions(scope, params.id, params.session_id),
});
