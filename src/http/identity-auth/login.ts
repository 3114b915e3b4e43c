import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { DomainError } from '../../domain/errors.js';
import { allowOrigins } from '../cors.js';
import { secretCookie } from '../oauth/secret-cookie.js';
import { errors } from '../operation.js';
import { Body, single, TypedEmail } from '../schemas.js';
import { attemptEvents } from '../sign-in-events.js';
import { LoginResult, presentLogin } from './answers.js';
import { authenticateClient, ClientFields, namedClient } from './client.js';
import type { IdentityAuthOptions } from './options.js';
import { VisitFields, visitOf } from './visit.js';

const perIp = { name: 'identity-login', points: 5, windowSeconds: 15 * 60 };

export const login: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (
  app,
  { provider, api, captcha, limits },
) => {
  const device = secretCookie(provider.baseUrl, 'trusted_device');
  allowOrigins(app, 'preValidation', (request) => namedClient(provider, request));
  app.post(
    '/login',
    {
      config: { events: attemptEvents, hashes: true },
      preValidation: limits.exact(perIp), // when the answer's headers let the client's scripts read the refusal
      schema: {
        operationId: 'identityLogin',
        summary: 'Sign an end user in with a password',
        description:
          'For clients with pages of their own. Whatever is wrong with client, address or password, the refusal is one, after the same time; only the right password is told that the address is not confirmed. 5 per 15 minutes per IP.',
        tags: ['End-user authentication'],
        body: Body({
          ...ClientFields,
          email: TypedEmail,
          password: Type.String({ maxLength: 1024 }),
          ...VisitFields,
          'cf-turnstile-response': Type.Optional(
            Type.String({
              maxLength: 2048,
              description: 'What the captcha answered, where the environment wants one.',
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
      const client = await authenticateClient(provider, request).catch(async (error) => {
        await api.signIn.pretend(password);
        throw error;
      });
      const isAsked = client.settings.loginRequireCaptcha;
      if (isAsked && !(await captcha.verify(solved, request.ip))) throw new DomainError('captcha.failed');
      const result = await api.signIn.withPassword(visitOf(request, client, device), { email, password });
      return reply.send({ data: presentLogin(result, provider.now) });
    },
  );
};
