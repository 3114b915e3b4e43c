import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { DomainError, invalidField } from '../../domain/errors.js';
import { isRegistered } from '../../domain/oidc/clients/redirect-uris.js';
import { allowOrigins, clientOfToken } from '../browsers/cors.js';
import { SignOutRedirect, sendSignedOut } from '../browsers/provider-sign-out.js';
import { credentialsOf } from '../principals/credentials.js';
import { errors } from '../surfaces/operation.js';
import { Nullable, single } from '../surfaces/schemas.js';
import { ClientFields, countedClient, namedClient } from './client.js';
import type { IdentityAuthOptions } from './options.js';
import { subjectOf } from './signed-in.js';

const ByRefreshToken = Type.Object(
  {
    ...ClientFields,
    refresh_token: Type.String({ maxLength: 1024 }),
    post_logout_redirect_uri: Type.Optional(
      Type.String({
        maxLength: 2048,
        description: "A registered URI to which the identity provider's sign-out leads.",
      }),
    ),
  },
  { additionalProperties: false },
);

export const logout: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, options) => {
  const { provider, api, leaving, limits } = options;
  allowOrigins(
    app,
    'preValidation',
    async (request) => (await namedClient(provider, request)) ?? clientOfToken(provider, request),
  );
  app.post(
    '/logout',
    {
      config: { events: ['auth.identity_signed_out', 'identity.signed_out'] },
      schema: {
        operationId: 'identityLogout',
        summary: 'Sign out',
        description:
          'Ends the session of the bearer token, or of a refresh token of the client, with everything that was issued in it. ' +
          'It is not an error if there is nothing to end. If the session was started through an SSO connection with single ' +
          "logout (`single_logout_enabled`), the response is 200 with the URL to which to send the person's browser, once and " +
          'within ten minutes. A third-party application (`consent_required`) signs out only with its refresh token, and then ' +
          'without signing out at the provider.',
        tags: ['End-user authentication'],
        security: [{ bearer: [] }, {}],
        body: Nullable(ByRefreshToken),
        response: {
          200: single(SignOutRedirect),
          204: Type.Null(),
          ...errors(
            'validation.failed',
            'auth.multiple_credentials',
            'auth.invalid_credentials',
            'principal.wrong_type',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { bearer } = credentialsOf(request);
      const { body } = request;
      const client = body && (await countedClient(options, request, reply));
      const redirectUri = body?.post_logout_redirect_uri ?? null;
      if (redirectUri !== null && !isRegistered(redirectUri, client?.postLogoutRedirectUris ?? [])) {
        throw invalidField('post_logout_redirect_uri', 'unregistered', 'is not registered for this client');
      }
      if (!body) await limits.general('anonymous', request.ip, reply);
      const proven = bearer ? await provider.accessTokens.prove(bearer) : null;
      // As everywhere where the person's own account is requested (docs/decisions/0063).
      if (proven?.isThirdParty) throw new DomainError('principal.wrong_type');
      const ended = body && client ? await api.sessions.signOutBy(client, body.refresh_token) : [];
      // An application of others could follow the URL without the person's browser, and read there what their provider
      // says about them.
      const left = client?.consentRequired ? [] : ended;
      if (proven) left.push(...(await api.sessions.signOut(subjectOf(proven))));
      const clientId = client?.clientId ?? null;
      const token = await leaving.begin(left, { redirectUri, homeUrl: null, clientId, uiLocales: null });
      return sendSignedOut(reply, provider.baseUrl, token);
    },
  );
};
