import formbody from '@fastify/formbody';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Provider } from '../../domain/oidc/provider.js';
import type { RateLimits } from '../rate-limits.js';
import { authorize } from './authorize.js';
import { introspect } from './introspect.js';
import { logout } from './logout.js';
import { handleOAuthErrors } from './oauth-error.js';
import { handlePageErrors } from './pages.js';
import { revoke } from './revoke.js';
import { token } from './token/index.js';
import { userinfo } from './userinfo.js';

export interface OAuthOptions {
  provider: Provider;
  limits: Pick<RateLimits, 'general'>;
}

/** Everything under `/oauth`: what browsers open answers pages, what clients call answers RFC 6749's JSON. */
export const oauth: FastifyPluginAsyncTypebox<OAuthOptions> = async (app, options) => {
  // Every POST here takes a form or JSON, and nothing else (contract §4).
  app.removeContentTypeParser('text/plain');
  if (!app.hasContentTypeParser('application/x-www-form-urlencoded')) await app.register(formbody);

  await app.register(async (pages) => {
    handlePageErrors(pages);
    pages.addHook('onRequest', (request, reply) => options.limits.general('anonymous', request.ip, reply));
    await pages.register(authorize, options);
    await pages.register(logout, options);
  });
  await app.register(async (endpoints) => {
    handleOAuthErrors(endpoints);
    await endpoints.register(token, options);
    await endpoints.register(revoke, options);
    await endpoints.register(introspect, options);
    await endpoints.register(userinfo, options);
  });
};
