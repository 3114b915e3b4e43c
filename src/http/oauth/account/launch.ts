import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { initiateLoginUrl } from '../../../domain/oidc/clients/initiate-login.js';
import { accountUrl } from '../../../domain/oidc/requests/account-request.js';
import { shownClient } from '../../pages/page-client.js';
import { redirect } from '../../pages/redirect.js';
import { sendPage } from '../../pages/send-page.js';
import { wantsJson } from '../../pages/wants-json.js';
import type { AccountOptions } from './options.js';

/**
 * Opens an application for somebody who has signed in without having been sent by it, such as from a tile in their
 * identity provider's portal: the application begins a sign-in of its own, which is answered at once. A page leads
 * there, since a redirect after a form would be subject to the `form-action` of the form's page.
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
