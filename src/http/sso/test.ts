import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { onlyOnce, readParameters } from '../../domain/oidc/requests/parameters.js';
import type { SsoTests } from '../../domain/sso-sign-in/tests.js';
import type { Clock } from '../../platform/clock.js';
import { readForms } from '../browsers/form-bodies.js';
import { assertOwnOrigin } from '../browsers/origin.js';
import { secretCookie } from '../browsers/secret-cookie.js';
import { redirect } from '../pages/redirect.js';
import { sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';
import { sendTestDone, sendTestVoid } from './test-page.js';

const action = '/sso/test';

export interface TestRoutesOptions {
  tests: SsoTests;
  baseUrl: string;
  now: Clock;
}

/** The link of a test sign-in. Opening it shows a page; only its button uses it, so that mail scanners cannot. */
export const test: FastifyPluginAsyncTypebox<TestRoutesOptions> = async (app, { tests, baseUrl, now }) => {
  const cookie = secretCookie(baseUrl, 'sso');
  readForms(app);
  const tokenIn = (sent: unknown) => onlyOnce(readParameters(sent), ['token']).get('token') ?? '';

  app.get(action, async (request, reply) => {
    const token = tokenIn(request.query);
    const connection = await tests.preview(token);
    if (!connection) return sendTestVoid(request, reply);
    const values = { action, token, connection: connection.name };
    if (wantsJson(request)) return reply.send({ connection: connection.name });
    return sendPage(request, reply, 'sso-test', values);
  });

  app.post(action, async (request, reply) => {
    assertOwnOrigin(request, baseUrl);
    const begun = await tests.begin(tokenIn(request.body), cookie.read(request));
    if (!begun) return sendTestVoid(request, reply);
    const { testId, started } = begun;
    if (!started) return sendTestDone(request, reply, await tests.report(testId));
    cookie.set(reply, started.browser, started.expiresAt, now());
    if (wantsJson(request)) return redirect(request, reply, started.url);
    // CSP's `form-action` fixes where a form may lead before the provider is known.
    return sendPage(request, reply, 'sso-leave', { url: started.url, client: null, to: 'provider' });
  });
};
