import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { OAuthError } from '../../domain/oidc/oauth-error.js';
import { onlyOnce, readParameters } from '../../domain/oidc/requests/parameters.js';
import { isUuid } from '../../platform/uuid.js';
import { assertOwnOrigin } from '../browsers/origin.js';
import type { HostedOptions } from './options.js';
import { typedEmail } from './typed-email.js';

/** A sign-in by an identity provider that the person has chosen, by its id or by their address. */
export const sso: FastifyPluginAsyncTypebox<HostedOptions> = async (
  app,
  { provider, hosted, signInPage, ssoRedirect, sso },
) => {
  app.get('/oauth/sso', async (request, reply) => {
    if (request.method === 'HEAD') return reply.send(); // a HEAD must not begin anything
    const read = readParameters(request.query);
    const id = onlyOnce(read, ['connection_id']).get('connection_id') ?? '';
    const visit = await hosted.enter(request, reply, read);
    if (!visit) return reply;
    const connection = isUuid(id) ? await sso.endUsers.connection(visit.client, id) : null;
    if (!connection) throw new OAuthError('invalid_request', 'connection_id is unknown');
    return ssoRedirect.go(visit, connection);
  });

  app.post('/oauth/sso', async (request, reply) => {
    assertOwnOrigin(request, provider.baseUrl);
    const read = readParameters(request.query, request.body);
    const email = typedEmail(onlyOnce(read, ['email']));
    const visit = await hosted.enter(request, reply, read);
    if (!visit) return reply;
    if (email === '') return signInPage.send(visit, { email, error: 'sign_in.error.email_missing' });
    const connection = await ssoRedirect.ofAddress(visit, email);
    if (!connection) return signInPage.send(visit, { email, error: 'sign_in.error.no_provider' });
    return ssoRedirect.go(visit, connection, { email });
  });
};
