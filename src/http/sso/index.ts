import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { adminAppOf } from '../../platform/admin-app.js';
import { createAdminCookies } from '../admin-auth/cookies.js';
import { createAdminLanding } from '../admin-auth/sso-landing.js';
import { declareEvents } from '../event-lists/oauth.js';
import { createHostedLogin } from '../oauth/hosted-login.js';
import type { OAuthOptions } from '../oauth/options.js';
import { handlePageErrors } from '../pages/error-page.js';
import { createAdminFinisher } from './admin-finisher.js';
import { backchannelLogout } from './backchannel-logout.js';
import { complete } from './complete.js';
import { createIdentityFinisher } from './identity-finisher.js';
import { leave } from './leave.js';
import { oidcCallback } from './oidc-callback.js';
import { saml } from './saml.js';
import { test } from './test.js';
import { createTestFinisher } from './test-finisher.js';

export interface SsoPagesOptions extends OAuthOptions {
  /** The address of the administrators' application. */
  adminAppUrl?: string;
}

/** The routes to which identity providers send browsers back, and where those continue: `/sso`. */
export const sso: FastifyPluginAsyncTypebox<SsoPagesOptions> = async (app, options) => {
  const { provider, logins, limits, sso, adminAppUrl } = options;
  const { baseUrl, now } = provider;
  declareEvents(app);
  handlePageErrors(app);
  app.addHook('onRequest', (request, reply) => limits.general('anonymous', request.ip, reply));
  const hosted = createHostedLogin(provider, logins, sso);
  const landing = createAdminLanding({ baseUrl, adminAppUrl });
  const finishers = {
    identity: createIdentityFinisher({ sso, hosted, now }),
    admin: createAdminFinisher({
      administrators: sso.administrators,
      cookies: createAdminCookies(baseUrl),
      landing,
      appUrl: adminAppOf({ baseUrl, adminAppUrl }),
    }),
    test: createTestFinisher(sso.tests),
  };
  await app.register(saml, { saml: sso.saml, baseUrl, now });
  await app.register(oidcCallback, { sso, baseUrl });
  await app.register(backchannelLogout, { logOut: sso.backchannelLogout });
  await app.register(complete, { sso, baseUrl, finishers });
  await app.register(leave, { leaving: sso.leaving, clients: provider.clients, baseUrl, now });
  await app.register(test, { tests: sso.tests, baseUrl, now });
};
