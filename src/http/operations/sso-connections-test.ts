import { Type } from 'typebox';
import { errors, operation } from '../surfaces/operation.js';
import { Id, single } from '../surfaces/schemas.js';
import { type ConnectionsOf, ofOne } from './sso-connection-scopes.js';
import { NewTestView, presentNewTest, presentTest, TestView } from './sso-test-views.js';

export const testConnection = (of: ConnectionsOf) =>
  operation({
    ...ofOne(of),
    ...of.changing,
    id: `test${of.prefix}SsoConnection`,
    method: 'POST',
    path: `${of.path}/test`,
    summary: `Test an SSO connection of the ${of.owner}`,
    description:
      'Returns a link that works once, for ten minutes: whoever opens it signs in at the provider. The response is checked ' +
      'as usual, but nobody is signed in, created or linked, and it does not count for anything. The configuration must be ' +
      'complete; the status does not matter. Get the test to see its result.',
    events: ['sso_connection.test_started'],
    answers: {
      200: single(NewTestView),
      ...errors(...of.missing, ...of.refused, 'sso_connection.incomplete'),
    },
    handle: async ({ services, scope, caller, params }) => ({
      data: presentNewTest(await services.ssoTests.create(of.at(scope, params.id), caller)),
    }),
  });

export const getTest = (of: ConnectionsOf) =>
  operation({
    ...ofOne(of),
    ...of.viewing,
    id: `get${of.prefix}SsoTest`,
    method: 'GET',
    path: `${of.path}/test/:test_id`,
    summary: `Get a test of an SSO connection of the ${of.owner}`,
    description: 'Contains what the provider sent, and why it was refused. Kept for an hour after the link is created.',
    params: Type.Object({ id: Id, test_id: Id }),
    answers: { 200: single(TestView), ...errors(...of.missing, 'sso_connection.test_not_found') },
    handle: async ({ services, scope, params }) => ({
      data: presentTest(await services.ssoTests.get(of.at(scope, params.id), params.test_id)),
    }),
  });
