import { Type } from 'typebox';
import { errors, operation } from '../operation.js';
import { single } from '../schemas.js';
import { type ConnectionsOf, ofOne } from './sso-connection-scopes.js';
import { ConnectionView, presentConnection } from './sso-connection-views.js';

/** What goes with a connection: who is signed in by it, and that it is the default. */
const endings = [
  'auth.identity_signed_out',
  'auth.admin_session_revoked',
  'identity.sessions_revoked',
  'environment.settings_updated',
] as const;
export const activateConnection = (of: ConnectionsOf) =>
  operation({
    ...ofOne(of),
    ...of.changing,
    id: `activate${of.prefix}SsoConnection`,
    method: 'POST',
    path: `${of.path}/activate`,
    summary: `Let people sign in by an SSO connection of the ${of.owner}`,
    description: 'Needs a complete configuration; the refusal names what is missing. Its failures are forgotten.',
    events: ['sso_connection.activated'],
    answers: {
      200: single(ConnectionView),
      ...errors(...of.missing, ...of.refused, 'sso_connection.incomplete'),
    },
    handle: async ({ services, scope, caller, params }) => ({
      data: presentConnection(await services.ssoConnections.activate(of.at(scope, params.id), caller)),
    }),
  });

export const disableConnection = (of: ConnectionsOf) =>
  operation({
    ...ofOne(of),
    ...of.changing,
    id: `disable${of.prefix}SsoConnection`,
    method: 'POST',
    path: `${of.path}/disable`,
    summary: `Let nobody sign in by an SSO connection of the ${of.owner} any more`,
    description: 'Whoever is signed in by it is signed out. It is kept, with who its people are here.',
    events: ['sso_connection.disabled', ...endings],
    answers: {
      200: single(ConnectionView),
      ...errors(...of.missing, ...of.refused, 'sso_connection.not_active'),
    },
    handle: async ({ services, scope, caller, params }) => ({
      data: presentConnection(await services.ssoConnections.disable(of.at(scope, params.id), caller)),
    }),
  });

export const forgetConnectionLinks = (of: ConnectionsOf) =>
  operation({
    ...ofOne(of),
    ...of.changing,
    id: `forget${of.prefix}SsoConnectionLinks`,
    method: 'POST',
    path: `${of.path}/forget-links`,
    summary: `Forget whom the provider of an SSO connection of the ${of.owner} has named`,
    description:
      'Its people are found by their verified addresses again, as at first: for a provider that names everybody anew, as after its application was registered anew. ' +
      'Until then whoever has the address of somebody with another name is refused (`subject_mismatch`). Sessions go on; whoever is on the way begins anew.',
    events: ['sso_connection.links_forgotten'],
    answers: {
      200: single(Type.Object({ links_forgotten: Type.Integer() })),
      ...errors(...of.missing, ...of.refused),
    },
    handle: async ({ services, scope, caller, params }) => ({
      data: { links_forgotten: await services.ssoConnections.forgetLinks(of.at(scope, params.id), caller) },
    }),
  });

export const deleteConnection = (of: ConnectionsOf) =>
  operation({
    ...ofOne(of),
    ...of.changing,
    id: `delete${of.prefix}SsoConnection`,
    method: 'DELETE',
    path: of.path,
    summary: `Delete an SSO connection of the ${of.owner}`,
    description:
      'Whoever is signed in by it is signed out. Their identities stay; whom the provider names is forgotten.',
    events: ['sso_connection.deleted', ...endings],
    answers: { 204: Type.Null(), ...errors(...of.missing, ...of.refused) },
    handle: ({ services, scope, caller, params }) => services.ssoConnections.remove(of.at(scope, params.id), caller),
  });
