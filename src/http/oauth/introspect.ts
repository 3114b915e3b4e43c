import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { clientParameters } from '../../domain/oidc/clients/authentication.js';
import { OAuthError } from '../../domain/oidc/oauth-error.js';
import { onlyOnce, readParameters } from '../../domain/oidc/requests/parameters.js';
import { countedAs } from '../principals/client-limits.js';
import { noStore } from './oauth-error.js';
import type { OAuthOptions } from './options.js';

/** Token introspection (RFC 7662), for clients that can authenticate. */
export const introspect: FastifyPluginAsyncTypebox<OAuthOptions> = async (app, { provider, limits }) => {
  app.post('/oauth/introspect', async (request, reply) => {
    const values = onlyOnce(readParameters(request.body), [...clientParameters, 'token', 'token_type_hint']);
    const authenticating = provider.clientAuthentication.authenticate(request.headers.authorization, values);
    const client = await countedAs(limits, request, reply, authenticating);
    if (client.clientType === 'public') throw new OAuthError('invalid_client', 'public clients cannot introspect');
    const token = values.get('token');
    if (token === undefined) throw new OAuthError('invalid_request', 'token is missing');
    return noStore(reply).send(await provider.presentedTokens.introspect(client, token));
  });
};
