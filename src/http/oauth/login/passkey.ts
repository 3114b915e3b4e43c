import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { OAuthError } from '../../../domain/oidc/oauth-error.js';
import { onlyOnce, type ReadParameters, readParameters } from '../../../domain/oidc/requests/parameters.js';
import { aal2, firstFactor } from '../../../domain/sessions/first-factor.js';
import { assertOwnOrigin } from '../../browsers/origin.js';
import { unlessGone } from '../hosted-login.js';
import type { HostedOptions } from '../options.js';
import { throttled } from '../throttles.js';
import type { Visit } from '../visit.js';
import { answerWebauthnInJson, credentialIn, refuseInJson } from '../webauthn-json.js';

/** Sign-in with a passkey (WebAuthn Level 3, discoverable credentials): the endpoints for the sign-in page's script. */
export const passkey: FastifyPluginAsyncTypebox<HostedOptions> = async (app, { provider, logins, limits, hosted }) => {
  const { baseUrl, now } = provider;
  answerWebauthnInJson(app);

  app.post('/oauth/login/passkey/options', async (request, reply) => {
    assertOwnOrigin(request, baseUrl);
    const visit = await hosted.enter(request, reply, readParameters(request.body));
    if (!visit) return reply;
    assertAllowed(visit);
    const { options, token } = await logins.passkeyLogin.begin(requestOf(visit));
    return reply.send({ options, passkey_token: token });
  });

  app.post(
    '/oauth/login/passkey/verify',
    throttled(limits, 'POST /oauth/login/passkey/verify'),
    async (request, reply) => {
      assertOwnOrigin(request, baseUrl);
      const read = readParameters(request.body);
      const visit = await hosted.enter(request, reply, read);
      if (!visit) return reply;
      assertAllowed(visit);
      const result = await logins.passkeyLogin.signIn(visit.client, requestOf(visit), {
        token: tokenIn(read),
        sent: credentialIn(request.body),
      });
      if (result.outcome === 'second_factor_only') return refuseInJson(reply, 'mfa.second_factor_only');
      if (result.outcome !== 'accepted') return refuseInJson(reply, result.outcome);
      const { identityId, amr, passwordChangedAt } = result;
      const first = firstFactor(identityId, 'passkey', amr, { now: now(), acr: aal2, passwordChangedAt });
      return unlessGone(hosted.proved(visit, first), () => refuseInJson(reply, 'refused'));
    },
  );
};

const tokenIn = (read: ReadParameters) => onlyOnce(read, ['passkey_token']).get('passkey_token') ?? '';

const requestOf = ({ client, authorizeRequest }: Visit) => ({
  oauthClientId: client.id,
  parameters: authorizeRequest.parameters,
});

function assertAllowed({ methods }: Visit) {
  if (!methods.includes('passkey')) throw new OAuthError('access_denied', 'sign-in with a passkey is off');
}
