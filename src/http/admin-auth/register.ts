import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { after } from '../../platform/clock.js';
import { secretCookie } from '../browsers/secret-cookie.js';
import { browserLocaleOf } from '../pages/locale.js';
import { errors } from '../surfaces/operation.js';
import { Body, Email, Message, Name } from '../surfaces/schemas.js';
import { byMailAddress } from './limits.js';
import type { AdminAuthOptions } from './options.js';
import { sameOrigin } from './origin.js';

const perIp = { name: 'admin-register', points: 5, windowSeconds: 3600 };
const perMailAddress = { name: 'admin-register-address', points: 5, windowSeconds: 3600 };

export const register: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, options) => {
  const { users, limits, baseUrl, now } = options;
  const browserCookie = secretCookie(baseUrl, 'admin_registration');
  app.post(
    '/register',
    {
      config: { events: ['auth.registration_requested'], hashes: true },
      onRequest: [sameOrigin(options), limits.exact(perIp)],
      // Counted whether or not the address is known: each registration sends a mail to it.
      preHandler: limits.exact(perMailAddress, byMailAddress),
      schema: {
        operationId: 'register',
        summary: 'Register as an administrator',
        description:
          'Emails a link, valid for 24 hours unless configured otherwise, that creates the account. The response is the same ' +
          'for every email address, known or not, and sets a cookie with which this browser confirms with one click.',
        tags: ['Admin authentication'],
        body: Body({
          email: Email,
          password: Type.String({
            maxLength: 1024,
            description: '8 to 128 characters, in no known data breach, more than a name or an address.',
          }),
          first_name: Name,
          last_name: Name,
          account_name: Name,
          application_name: Name,
        }),
        response: {
          201: Message,
          ...errors(
            'validation.failed',
            'password.breached',
            'password.context_specific',
            'origin.foreign',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { body } = request;
      const { browser, livesMs } = await users.register({
        email: body.email,
        password: body.password,
        firstName: body.first_name.trim(),
        lastName: body.last_name.trim(),
        accountName: body.account_name.trim(),
        applicationName: body.application_name.trim(),
        locale: browserLocaleOf(request),
      });
      const at = now();
      browserCookie.set(reply, browser, after(at, livesMs), at);
      const message = 'We have sent an email to this address. Follow its instructions to continue.';
      return reply.code(201).send({ data: { message } });
    },
  );
};
