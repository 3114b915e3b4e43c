import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { callbackUrlOf, type OidcSecrets } from '../../domain/sso-protocols/oidc/oidc.js';
import type { Sso } from '../../domain/sso-sign-in/sso.js';
import { isSecret } from '../../platform/crypto/one-time-secret.js';
import { isUuid } from '../../platform/uuid.js';
import { sendSsoLost } from './failed-page.js';
import { goOnFor } from './go-on.js';
import { textOf } from './parameters.js';

/**
 * Where an OpenID provider sends people back to (OpenID Connect Core §3.1.2.5). `/sso/complete` checks whose browser it
 * is.
 */
export const oidcCallback: FastifyPluginAsyncTypebox<{ sso: Sso; baseUrl: string }> = async (app, { sso, baseUrl }) => {
  app.get('/sso/oidc/:connection_id/callback', async (request, reply) => {
    const [connectionId, state] = [textOf(request.params, 'connection_id'), textOf(request.query, 'state')];
    // A HEAD must not use up anything.
    if (request.method === 'HEAD') return reply.send();
    if (!isUuid(connectionId) || !isSecret(state)) return sendSsoLost(request, reply);
    const query = request.url.slice(request.url.indexOf('?'));
    const callbackUrl = `${callbackUrlOf(baseUrl, connectionId)}${query}`;
    const answered = await sso.signIn.answer(
      { state, connectionId, protocol: 'oidc', text: query },
      (connection, { secrets }) =>
        sso.oidc.verify(connection, { callbackUrl, expects: { ...(secrets as OidcSecrets), state } }),
    );
    if (!answered) return sendSsoLost(request, reply);
    return goOnFor(request, reply, answered);
  });
};
