import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { DomainError } from '../../domain/errors.js';
import { allowOrigins } from '../browsers/cors.js';
import { confirmationEvents } from '../event-lists/sign-in.js';
import { errors } from '../surfaces/operation.js';
import { Body, Message } from '../surfaces/schemas.js';
import { ClientFields, countedClient, namedClient } from './client.js';
import type { IdentityAuthOptions } from './options.js';

const tags = ['End-user authentication'];

export const verifyEmail: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, options) => {
  const { provider, logins, limits } = options;
  allowOrigins(app, 'preValidation', (request) => namedClient(provider, request));
  app.get(
    '/verify-email',
    {
      onRequest: (request, reply) => limits.general('anonymous', request.ip, reply),
      schema: {
        operationId: 'identityVerifyEmailPage',
        summary: 'Open the page of an emailed link that confirms an email address',
        description: 'Redirects to the page of the hosted login to which the emails link. Nothing is used up.',
        tags,
        querystring: Type.Object({ token: Type.String({ maxLength: 200 }) }),
        response: {
          303: { description: 'To the page', type: 'null' },
          ...errors('validation.failed', 'rate_limit.exceeded'),
        },
      },
    },
    async (request, reply) => {
      const query = new URLSearchParams({ token: request.query.token });
      return reply.redirect(`/oauth/verify-email?${query}`, 303);
    },
  );

  app.post(
    '/verify-email',
    {
      config: { events: confirmationEvents },
      schema: {
        operationId: 'identityVerifyEmail',
        summary: 'Confirm an email address with the token of an emailed link',
        description:
          "Requires the password that was chosen at sign-up: somebody who signs up with a stranger's email address knows it, " +
          "and the reader of the email does not. Accepts only links of the client's environment. Ten wrong passwords " +
          'invalidate the link.',
        tags,
        body: Body({
          ...ClientFields,
          token: Type.String({ maxLength: 200 }),
          password: Type.Optional(
            Type.String({ maxLength: 1024, description: 'Required if one was chosen at sign-up.' }),
          ),
        }),
        response: {
          200: Message,
          ...errors(
            'validation.failed',
            'identity.link_invalid',
            'password.wrong',
            'auth.multiple_credentials',
            'auth.invalid_credentials',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { environmentId } = await countedClient(options, request, reply);
      const { token, password = null } = request.body;
      const { outcome } = await logins.signUps.link.confirm({ token, password, browser: null, environmentId });
      if (outcome === 'void') throw new DomainError('identity.link_invalid');
      if (outcome === 'password_required') throw new DomainError('password.wrong');
      return reply.send({ data: { message: 'Your address is confirmed. You can sign in.' } });
    },
  );
};
