import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { callbackUrlOf, type OidcSecrets } from '../../domain/sso-protocols/oidc/oidc.js';
import type { Sso } from '../../domain/sso-sign-in/sso.js';
import { redirect } from '../oauth/pages.js';
import { sendSsoLost } from '../oauth/sso-failed-page.js';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const isState = (text: unknown): text is string => typeof text === 'string' && /^[\w-]{43}$/.test(text);

/** Where an OpenID provider sends people back to (OpenID Connect Core §3.1.2.5). Whose browser it is, `/sso/complete` asks. */
export const oidcCallback: FastifyPluginAsyncTypebox<{ sso: Sso; baseUrl: string }> = async (app, { sso, baseUrl }) => {
  app.get('/sso/oidc/:connection_id/callback', async (request, reply) => {
    const { connection_id: connectionId } = request.params as { connection_id: string };
    const { state } = request.query as { state?: unknown };
    // Who only looks, spends nothing.
    if (request.method === 'HEAD') return reply.send();
    if (!uuid.test(connectionId) || !isState(state)) return sendSsoLost(request, reply);
    const query = request.url.slice(request.url.indexOf('?'));
    const callbackUrl = `${callbackUrlOf(baseUrl, connectionId)}${query}`;
    const answered = await sso.signIn.answer({ state, connectionId }, (connection, { secrets }) =>
      sso.oidc.verify(connection, { callbackUrl, expects: { ...(secrets as OidcSecrets), state } }),
    );
    if (!answered) return sendSsoLost(request, reply);
    return redirect(request, reply, '/sso/complete', { request: answered.requestId });
  });
};
