import { Type } from 'typebox';
import { errors, operation } from '../surfaces/operation.js';
import { Id, Nullable, Resource, Timestamp } from '../surfaces/schemas.js';
import { changing, ofOne } from './identities-views.js';

const manage = { ...ofOne, ...changing } as const;

export const listIdentityApplications = operation({
  ...manage,
  id: 'listIdentityApplications',
  method: 'GET',
  path: '/identities/:id/applications',
  summary: 'List the applications with access to an identity',
  description:
    'OAuth clients of this environment that hold tokens of the identity or have its consent; most recent first.',
  answers: {
    200: Type.Object({
      items: Type.Array(
        Resource('IdentityApplication', {
          oauth_client_id: Id,
          client_id: Type.String(),
          name: Type.String(),
          since: Timestamp,
          scopes: Nullable(
            Type.Array(Type.String(), {
              description:
                'The scopes that the person has consented to (`consent_required`); null if consent was not asked for.',
            }),
          ),
        }),
      ),
    }),
    ...errors('identity.not_found'),
  },
  handle: async ({ services, scope, params }) => ({
    items: (await services.identityAdministration.applications(scope, params.id)).map((application) => ({
      oauth_client_id: application.id,
      client_id: application.clientId,
      name: application.name,
      since: application.since,
      scopes: application.scopes,
    })),
  }),
});

export const endIdentityApplication = operation({
  ...manage,
  id: 'endIdentityApplication',
  method: 'DELETE',
  path: '/identities/:id/applications/:oauth_client_id',
  summary: 'Revoke the access of an application to an identity',
  description:
    "Revokes everything that the application was granted in this environment, and the person's consent. Sessions " +
    'continue: where the person is signed in, the application gets new tokens when they return to it, after asking for ' +
    'consent if it has to.',
  params: Type.Object({ id: Id, oauth_client_id: Id }),
  events: ['auth.grant_revoked', 'identity.consent_withdrawn'],
  answers: { 204: Type.Null(), ...errors('identity.not_found', 'application.not_found') },
  handle: ({ services, scope, params }) =>
    services.identityAdministration.endApplication(scope, params.id, params.oauth_client_id),
});
