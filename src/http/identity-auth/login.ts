import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { DomainError } from '../../domain/errors.js';
import { allowOrigins } from '../browsers/cors.js';
import { secretCookie } from '../browsers/secret-cookie.js';
import { attemptEvents } from '../event-lists/sign-in.js';
import { errors } from '../surfaces/operation.js';
import { Body, single, TypedEmail } from '../surfaces/schemas.js';
import { LoginResult, presentLogin } from './answers.js';
import { ClientFields, countedClient, namedClient } from './client.js';
import type { IdentityAuthOptions } from './options.js';
import { VisitFields, visitOf } from './visit.js';

export const login: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, options) => {
  const { provider, api, captcha } = options;
  const device = secretCookie(provider.baseUrl, 'trusted_device');
  allowOrigins(app, 'preValidation', (request) => namedClient(provider, request));
  app.post(
    '/login',
    {
      config: { events: attemptEvents, hashes: true },
      schema: {
        operationId: 'identityLogin',
        summary: 'Sign in an end user with a password',
        description:
          'For clients with their own pages. An invalid client, email address or password gets the same error, after the same ' +
          'time; only with the correct password does the response say that the email address is not confirmed. Failures count ' +
          'together with those on the hosted pages: 10 in 15 minutes and 50 in a day per email address, 100 in 15 minutes per ' +
          'IP address.',
        tags: ['End-user authentication'],
        body: Body({
          ...ClientFields,
          email: TypedEmail,
          password: Type.String({ maxLength: 1024 }),
          ...VisitFields,
          'cf-turnstile-response': Type.Optional(
            Type.String({
              maxLength: 2048,
              description: 'The response of the captcha, if the environment requires one.',
            }),
          ),
        }),
        response: {
          200: single(LoginResult),
          ...errors(
            'validation.failed',
            'captcha.failed',
            'auth.multiple_credentials',
            'auth.invalid_credentials',
            'identity.email_unverified',
            'login.consent_required',
            'login.method_not_allowed',
            'mfa.enrollment_required',
            'sso_required',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { email, password, 'cf-turnstile-response': solved = '' } = request.body;
      const client = await countedClient(options, request, reply).catch(async (error) => {
        // A caller who exceeds the limit is told so at once: hashes are what the limit protects.
        if (!(error instanceof DomainError && error.code === 'rate_limit.exceeded')) await api.signIn.pretend(password);
        throw error;
      });
      const verdict = client.settings.loginRequireCaptcha ? await captcha.verify(solved, request.ip) : 'passed';
      if (verdict === 'unavailable') throw new DomainError('service.unavailable', { retryAfter: 5 });
      if (verdict === 'refused') throw new DomainError('captcha.failed');
      const result = await api.signIn.withPassword(visitOf(request, client, device), { email, password });
      return reply.send({ data: presentLogin(result, provider.now) });
    },
  );
};
