import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { ApiVisit } from '../../domain/logins/api-sign-in.js';
import type { Client } from '../../domain/oidc/clients/clients.js';
import { levelIn } from '../../domain/oidc/requests/acr-values.js';
import { allowedScopes } from '../../domain/oidc/scopes.js';
import { browserOf } from '../browsers/browser-of.js';
import type { SecretCookie } from '../browsers/secret-cookie.js';

/** What a sign-in requests, as at the authorization endpoint. */
export const VisitFields = {
  scope: Type.Optional(
    Type.String({
      maxLength: 1024,
      description: '`openid profile email` by default; scopes that the client may not be granted are left out.',
    }),
  ),
  acr_values: Type.Optional(
    Type.String({
      maxLength: 1024,
      description:
        '`urn:gatehouse:aal2` requires a second factor whatever the policy; followed by `urn:gatehouse:aal1`, only of people who have one.',
    }),
  ),
};

/** A sign-in of an authenticated client, on its way through the second factor. */
export const visitOf = (request: FastifyRequest, client: Client, device: SecretCookie): ApiVisit => {
  const { scope, acr_values: acrValues } = request.body as { scope?: string; acr_values?: string };
  return {
    client,
    scope: allowedScopes(scope ?? 'openid profile email', client.scopes),
    ...levelIn(acrValues),
    device: device.read(request),
    ...browserOf(request),
  };
};
