import { Type } from 'typebox';
import { listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, Id, listOf, Nullable, Resource, SessionEnd, single, Timestamp } from '../surfaces/schemas.js';
import { changing, detailAfter, IdentityDetail, mayChange, ofOne, ofThemselves } from './identities-views.js';

const manage = { ...ofOne, ...changing } as const;
const detail = { 200: single(IdentityDetail), ...errors('identity.not_found') };

export const activateIdentity = operation({
  ...manage,
  id: 'activateIdentity',
  method: 'POST',
  path: '/identities/:id/activate',
  summary: 'Activate an identity',
  description: 'Applies to this environment only. Activating an active identity changes nothing.',
  events: ['identity.activated', 'identity.sessions_revoked', 'auth.identity_signed_out'],
  answers: detail,
  handle: ({ params, ...asking }) =>
    detailAfter(asking, () =>
      asking.services.identityAdministration.setActive(asking.scope, params.id, { isActive: true }),
    ),
});

export const deactivateIdentity = operation({
  ...manage,
  id: 'deactivateIdentity',
  method: 'POST',
  path: '/identities/:id/deactivate',
  summary: 'Deactivate an identity',
  description:
    'Applies to this environment only. Its sessions there end immediately with all tokens issued from them, and its ' +
    'trusted devices are forgotten.',
  events: ['identity.deactivated', 'identity.sessions_revoked', 'auth.identity_signed_out'],
  answers: detail,
  handle: ({ params, ...asking }) =>
    detailAfter(asking, () =>
      asking.services.identityAdministration.setActive(asking.scope, params.id, { isActive: false }),
    ),
});

export const setIdentityPassword = operation({
  ...manage,
  id: 'setIdentityPassword',
  method: 'PUT',
  path: '/identities/:id/password',
  summary: 'Set the password of an identity',
  description:
    'The password must meet the rules of this environment. An identity has one password in all environments of the ' +
    'account: its sessions in all of them end, and it is notified by email. ' +
    ofThemselves,
  body: Body({ password: Type.String({ minLength: 1, maxLength: 1024 }) }),
  events: ['identity.password_changed', 'identity.sessions_revoked'],
  answers: {
    ...detail,
    ...errors(
      'auth.reauthentication_required',
      'identity.not_found',
      'identity.holds_more',
      'identity.in_production',
      'password.breached',
      'password.context_specific',
      'validation.failed',
    ),
  },
  handle({ params: { id }, body, ...asking }) {
    const { services, scope } = asking;
    const may = mayChange(asking, id, { takesOver: true });
    return detailAfter(asking, () => services.identityAdministration.setPassword(scope, id, body.password, may));
  },
});

export const resetIdentityPassword = operation({
  ...manage,
  id: 'resetIdentityPassword',
  method: 'POST',
  path: '/identities/:id/password/reset',
  summary: 'Force an identity to choose a new password',
  description:
    'The password stops working, all sessions end, and a link to choose a new password is emailed. The link leads back to ' +
    'the client named by `client_id`, or else to the oldest client of the environment. No link is emailed to a ' +
    'deactivated identity, or if password sign-in is disabled in the environment.',
  body: Nullable(Body({ client_id: Type.Optional(Type.String({ maxLength: 255 })) })),
  events: ['identity.password_changed', 'identity.sessions_revoked', 'auth.identity_password_link_requested'],
  answers: {
    ...detail,
    ...errors('identity.not_found', 'identity.in_production', 'oauth_client.not_found', 'validation.failed'),
  },
  handle({ params: { id }, body, ...asking }) {
    const { services, scope } = asking;
    const may = mayChange(asking, id, { takesOver: false });
    return detailAfter(asking, () => services.identityAdministration.forceReset(scope, id, body?.client_id, may));
  },
});

export const verifyIdentityEmail = operation({
  ...manage,
  id: 'verifyIdentityEmail',
  method: 'POST',
  path: '/identities/:id/email/verify',
  summary: 'Mark the email address of an identity as verified',
  events: ['identity.email_verified'],
  answers: { ...detail, ...errors('identity.not_found', 'identity.in_production') },
  handle({ params: { id }, ...asking }) {
    const { services, scope } = asking;
    const may = mayChange(asking, id, { takesOver: false });
    return detailAfter(asking, () => services.identityAdministration.verifyEmail(scope, id, may));
  },
});

export const unlockIdentity = operation({
  ...manage,
  id: 'unlockIdentity',
  method: 'POST',
  path: '/identities/:id/unlock',
  summary: 'Unlock an identity',
  description:
    'Resets the counts of wrong passwords, codes and second factors in all environments of the account, whoever caused ' +
    'them, so that the identity can sign in again immediately. Counts by network address and of sent emails stay. Every ' +
    'call is recorded, even if nothing was counted. ' +
    ofThemselves,
  events: ['identity.unlocked'],
  answers: {
    ...detail,
    ...errors('auth.reauthentication_required', 'identity.not_found', 'identity.holds_more', 'identity.in_production'),
  },
  handle({ params: { id }, ...asking }) {
    const { services, scope } = asking;
    const may = mayChange(asking, id, { takesOver: true }); // without the lock, their password can be guessed
    return detailAfter(asking, () => services.identityAdministration.unlock(scope, id, may));
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
    'Sessions in this environment. A session that has ended is listed while a client still holds tokens issued from it. ' +
    '`q` searches the address and the user agent.',
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
  description:
    'Applies to this environment only, and includes all tokens issued from the sessions, and sign-ins that wait for a second ' +
    'factor.',
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
  description: 'Ends what clients were granted in it, too: access tokens are refused from the next request on.',
  params: Type.Object({ id: Id, session_id: Id }),
  events: ['identity.sessions_revoked', 'auth.identity_signed_out'],
  answers: { 204: Type.Null(), ...errors('identity.not_found', 'session.not_found') },
  handle: ({ services, scope, params }) =>
    services.identityAdministration.endSessions(scope, params.id, params.session_id),
});
