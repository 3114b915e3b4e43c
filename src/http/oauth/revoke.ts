import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { clientParameters } from '../../domain/oidc/clients/authentication.js';
import { OAuthError } from '../../domain/oidc/oauth-error.js';
import { onlyOnce, readParameters } from '../../domain/oidc/requests/parameters.js';
import { countedAs } from '../principals/client-limits.js';
import { allowOrigin, answerPreflights } from './cors.js';
import { noStore } from './oauth-error.js';
import type { OAuthOptions } from './options.js';

/** Token revocation (RFC 7009). The hint is not needed: a token shows its type. */
export const revoke: FastifyPluginAsyncTypebox<OAuthOptions> = async (app, { provider, limits }) => {
  answerPreflights(app, '/oauth/revoke', 'POST');
  app.post('/oauth/revoke', async (request, reply) => {
    const values = onlyOnce(readParameters(request.body), [...clientParameters, 'token', 'token_type_hint']);
    const authenticating = provider.clientAuthentication.authenticate(request.headers.authorization, values);
    const client = await countedAs(limits, request, reply, authenticating, (one) => allowOrigin(request, reply, one));
    const token = values.get('token');
    if (token === undefined) throw new OAuthError('invalid_request', 'token is missing');
    await provider.presentedTokens.revoke(client, token);
    // RFC 7009 §2.2: the same for an unknown token. The body is empty JSON, since some clients parse it as JSON.
    return noStore(reply).code(200).send({});
  });
};
