import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { OAuthError } from '../../domain/oidc/oauth-error.js';
import { SsoRefused } from '../../domain/sso-protocols/assertion.js';
import type { BackchannelLogout } from '../../domain/sso-sign-in/backchannel-logout.js';
import { isUuid } from '../../platform/uuid.js';
import { readForms } from '../browsers/form-bodies.js';
import { handleOAuthErrors, noStore } from '../oauth/oauth-error.js';
import { textOf } from './parameters.js';

const bodyLimit = 64 * 1024;

/**
 * Where an OpenID provider reports that somebody's session there is over (OpenID Connect Back-Channel Logout 1.0 §2.5
 * to §2.8). The caller is a server without cookies: the token alone proves who it is.
 */
export const backchannelLogout: FastifyPluginAsyncTypebox<{ logOut: BackchannelLogout }> = async (app, { logOut }) => {
  handleOAuthErrors(app);
  readForms(app, { bodyLimit });

  app.post('/sso/oidc/:connection_id/backchannel-logout', async (request, reply) => {
    const [id, token] = [textOf(request.params, 'connection_id'), textOf(request.body, 'logout_token')];
    if (token === null) throw new OAuthError('invalid_request', 'logout_token is missing');
    const isKnown = isUuid(id) && (await orRefused(request, () => logOut(id, token)));
    if (!isKnown) throw new OAuthError('invalid_request', 'there is no such connection');
    return noStore(reply).code(200).send();
  });
};

async function orRefused<T>({ log }: FastifyRequest, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SsoRefused)) throw error;
    log.info({ refusal: error.code }, 'a logout token of an identity provider is refused');
    throw new OAuthError('invalid_request', `${error.code}: ${error.message}`);
  }
}
