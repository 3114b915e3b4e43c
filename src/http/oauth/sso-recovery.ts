import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { onlyOnce, readParameters } from '../../domain/oidc/requests/parameters.js';
import { assertOwnOrigin } from '../browsers/origin.js';
import { wantsJson } from '../pages/wants-json.js';
import { sendSsoLost } from '../sso/failed-page.js';
import { sendBarred } from './barred-page.js';
import { recoveredBy, unlessGone } from './hosted-login.js';
import { createCodesBrowser } from './mfa/codes-browser.js';
import type { HostedOptions } from './options.js';
import { throttled } from './throttles.js';

/** Accepts a recovery code of an organization whose identity provider is down, after another proof of identity. */
export const ssoRecovery: FastifyPluginAsyncTypebox<HostedOptions> = async (app, { provider, hosted, limits, sso }) => {
  const codesBrowser = createCodesBrowser(provider);

  app.post('/oauth/sso/recovery', throttled(limits, 'POST /oauth/sso/recovery'), async (request, reply) => {
    assertOwnOrigin(request, provider.baseUrl);
    const read = readParameters(request.query, request.body);
    const form = onlyOnce(read, ['sso_recovery_token', 'recovery_code']);
    const visit = await hosted.enter(request, reply, read);
    if (!visit) return reply;
    const token = form.get('sso_recovery_token') ?? '';
    const browser = wantsJson(request) ? null : codesBrowser.read(request);
    const typed = { token, code: form.get('recovery_code') ?? '', browser };
    const redeemed = await sso.recovery.redeem(recoveredBy(visit), typed);
    if (!redeemed) return sendSsoLost(request, reply);
    if (redeemed.isRight) return unlessGone(hosted.proved(visit, redeemed.first), () => sendSsoLost(request, reply));
    const { connections } = redeemed.offer;
    const recovery = { token, isWrong: true };
    return sendBarred(visit, { code: 'sso_required', methods: [], connections }, { recovery });
  });
};
