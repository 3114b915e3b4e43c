import { Type } from 'typebox';
import { errors, operation } from '../surfaces/operation.js';
import { single } from '../surfaces/schemas.js';
import { type ConnectionsOf, ofOne } from './sso-connection-scopes.js';
import { ConnectionView, presentConnection } from './sso-connection-views.js';

/** The events when a connection ends: those whom it signed in are signed out, and it is no longer a default. */
const endings = [
  'auth.identity_signed_out',
  'auth.admin_session_revoked',
  'identity.sessions_revoked',
  'environment.settings_updated',
] as const;

const isOfAccount = ({ level }: ConnectionsOf): boolean => level === 'account';
const required =
  'While the account requires single sign-on (`require_sso`), its last active connection has to stay: ' +
  '`sso_connection.required`.';
const refusedToEnd = (of: ConnectionsOf) => (isOfAccount(of) ? (['sso_connection.required'] as const) : []);

export const activateConnection = (of: ConnectionsOf) =>
  operation({
    ...ofOne(of),
    ...of.changing,
    id: `activate${of.prefix}SsoConnection`,
    method: 'POST',
    path: `${of.path}/activate`,
    summary: `Activate an SSO connection of the ${of.owner}`,
    description:
      'The configuration must be complete; otherwise the error names what is missing. Its count of failures is reset.',
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
    summary: `Disable an SSO connection of the ${of.owner}`,
    description:
      'Everybody who is signed in through it is signed out. The connection is kept, with its links to identities.' +
      (isOfAccount(of) ? ` ${required} Owners can disable it.` : ''),
    events: ['sso_connection.disabled', ...endings],
    answers: {
      200: single(ConnectionView),
      ...errors(...of.missing, ...of.refused, 'sso_connection.not_active', ...refusedToEnd(of)),
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
    summary: `Forget the links of an SSO connection of the ${of.owner}`,
    description:
      'Deletes the links between people at the provider and identities; they are matched by verified email address again, ' +
      'as at first. For a provider that gives everybody a new identifier, for example after its application was registered ' +
      'again: until then, a person with the email address of an identity that is linked to another identifier is refused ' +
      '(`subject_mismatch`). Sessions continue; sign-ins in progress must be started again.',
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
      'Everybody who is signed in through it is signed out. Their identities stay; the links to the provider are deleted.' +
      (isOfAccount(of) ? ` ${required}` : ''),
    events: ['sso_connection.deleted', ...endings],
    answers: { 204: Type.Null(), ...errors(...of.missing, ...of.refused, ...refusedToEnd(of)) },
    handle: ({ services, scope, caller, params }) => services.ssoConnections.remove(of.at(scope, params.id), caller),
  });
