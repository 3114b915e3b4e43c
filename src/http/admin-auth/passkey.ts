import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { browserOf } from '../browsers/browser-of.js';
import { Json } from '../mfa/schemas.js';
import { errors } from '../surfaces/operation.js';
import { Body, Id, single } from '../surfaces/schemas.js';
import { createAdminCookies } from './cookies.js';
import type { AdminAuthOptions } from './options.js';
import { sameOrigin } from './origin.js';
import { ChallengeOutcome, presentEntered, presentSsoRequired } from './outcomes.js';

/** There is nothing to guess, and an office has one address. The options store nothing: the general limit suffices. */
const perIp = { name: 'admin-passkey', points: 60, windowSeconds: 60 };
const tags = ['Admin authentication'];

const optionsSchema = {
  operationId: 'adminPasskeyOptions',
  summary: 'Get the options for `navigator.credentials.get` with any passkey',
  description:
    'They name nobody: the browser offers the passkeys that it has for this service, also in the autofill of a form ' +
    '(`mediation: "conditional"`). The relying party is the host of this service.',
  tags,
  response: {
    200: single(
      Type.Object({
        passkey_token: Type.String({ description: 'Works once, within 30 minutes.' }),
        options: Json('`PublicKeyCredentialRequestOptionsJSON`'),
      }),
    ),
    ...errors('validation.failed', 'origin.foreign', 'rate_limit.exceeded', 'service.unavailable'),
  },
};

const answerSchema = {
  operationId: 'adminPasskey',
  summary: 'Sign in with a passkey',
  description:
    'In place of a password and a second factor: the passkey verifies its user, so the session is `aal2`. The response is ' +
    'like that of `login`, and sets the same cookies. Unknown passkeys and wrong answers are refused alike (401). A key ' +
    'that is right and does not sign in by itself (`signs_in` of `mfa/factors`) is 403 `mfa.second_factor_only`.',
  tags,
  body: Body({
    passkey_token: Type.String({ maxLength: 2048 }),
    response: Json('`AuthenticationResponseJSON`'),
    application_id: Type.Optional(Id),
  }),
  response: {
    200: single(ChallengeOutcome),
    ...errors(
      'validation.failed',
      'mfa.challenge_invalid',
      'auth.invalid_credentials',
      'mfa.second_factor_only',
      'origin.foreign',
      'rate_limit.exceeded',
      'service.unavailable',
    ),
  },
};

/** Sign-in with a passkey alone (WebAuthn Level 3, discoverable credentials), for the script of a sign-in page. */
export const passkey: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, options) => {
  const { users, limits, baseUrl } = options;
  const cookies = createAdminCookies(baseUrl);

  app.post(
    '/passkey/options',
    { config: { events: [] }, onRequest: sameOrigin(options), schema: optionsSchema },
    async (_request, reply) => {
      const { token, options: asked } = await users.mfa.passkeys.begin();
      return reply.send({ data: { passkey_token: token, options: { ...asked } } });
    },
  );

  app.post(
    '/passkey',
    {
      config: {
        events: ['auth.admin_signed_in', 'auth.admin_sign_in_failed', 'auth.admin_webauthn_counter_regressed'],
      },
      onRequest: [sameOrigin(options), limits.exact(perIp)],
      schema: answerSchema,
    },
    async (request, reply) => {
      const { passkey_token: token, response: sent, application_id: applicationId } = request.body;
      const entered = await users.signIn.signInByPasskey({ token, sent, applicationId, ...browserOf(request) });
      if (entered.outcome === 'sso_required') return reply.send({ data: presentSsoRequired(baseUrl, entered) });
      if ('refreshToken' in entered) cookies.set(reply, entered);
      return reply.send({ data: presentEntered(entered) });
    },
  );
};
