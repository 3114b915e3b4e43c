import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { accountUrl } from '../../../domain/oidc/account-request.js';
import { initiateLoginUrl } from '../../../domain/oidc/initiate-login.js';
import { redirect } from '../../pages/redirect.js';
import { sendPage } from '../../pages/send-page.js';
import { wantsJson } from '../../pages/wants-json.js';
import { shownClient } from '../link-pages.js';
import type { AccountOptions } from './options.js';

/**
 * On to an application, for whoever has signed in without having been sent by it, as from a tile of their identity provider's portal: it
 * begins a sign-in of its own, which is answered at once. By a page, since it may come behind a form, whose `form-action` would hold it.
 */
export const launch: FastifyPluginAsyncTypebox<AccountOptions> = async (app, { provider, visits }) => {
  app.get('/oauth/account/launch', async (request, reply) => {
    const visit = await visits.open(request, reply, 'account/launch');
    if (!visit) return reply;
    const { client, session, params, uiLocales } = visit;
    const url = initiateLoginUrl(client, provider.baseUrl, session.email);
    if (url === null) return redirect(request, reply, accountUrl(provider.baseUrl, 'account', params));
    if (wantsJson(request)) return redirect(request, reply, url);
    const values = { url, client: shownClient(client), to: 'application' } as const;
    return sendPage(request, reply, 'sso-leave', values, { client, uiLocales });
  });
};
