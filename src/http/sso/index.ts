import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { declareEvents } from '../oauth/events.js';
import { createHostedLogin } from '../oauth/hosted-login.js';
import type { OAuthOptions } from '../oauth/options.js';
import { handlePageErrors } from '../oauth/pages.js';
import { complete } from './complete.js';
import { createIdentityFinisher } from './identity-finisher.js';
import { oidcCallback } from './oidc-callback.js';

/** What identity providers send browsers back to, and where those go on from: `/sso`. */
export const sso: FastifyPluginAsyncTypebox<OAuthOptions> = async (app, { provider, logins, limits, sso }) => {
  const { baseUrl, now } = provider;
  declareEvents(app);
  handlePageErrors(app);
  app.addHook('onRequest', (request, reply) => limits.general('anonymous', request.ip, reply));
  const hosted = createHostedLogin(provider, logins);
  const finishers = { identity: createIdentityFinisher({ sso, hosted, now }) };
  await app.register(oidcCallback, { sso, baseUrl });
  await app.register(complete, { sso, baseUrl, finishers });
};
