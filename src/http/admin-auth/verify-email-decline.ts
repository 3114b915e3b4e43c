import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { browserLocaleOf } from '../pages/locale.js';
import { errors } from '../surfaces/operation.js';
import { Body, Message } from '../surfaces/schemas.js';
import type { AdminAuthOptions } from './options.js';
import { sameOrigin } from './origin.js';
import { sendPageOrError } from './page-errors.js';
import { isForm, sendAdminPage } from './pages.js';

/** Lets somebody whose address a stranger has registered discard the registration (docs/decisions/0011). */
export const verifyEmailDecline: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users, ...pages }) => {
  app.setErrorHandler(sendPageOrError(pages));

  app.post(
    '/verify-email/decline',
    {
      config: { events: ['auth.registration_discarded'] },
      onRequest: sameOrigin(pages),
      schema: {
        operationId: 'declineRegistration',
        summary: 'Discard a registration that the owner of the email address did not make',
        description:
          'Its link stops working, and the data entered for it is deleted. Other registrations with the email address stay. ' +
          'JSON is answered with JSON, a form with a page.',
        tags: ['Admin authentication'],
        body: Body({ token: Type.String() }),
        response: {
          200: {
            description: 'A message; or the page, for a form',
            content: {
              'application/json': { schema: Message },
              'text/html': { schema: Type.String() },
            },
          },
          ...errors('registration.link_invalid', 'validation.failed', 'origin.foreign'),
        },
      },
    },
    async (request, reply) => {
      await users.email.decline(request.body.token);
      if (isForm(request)) return sendAdminPage(reply, 'registration-declined', {}, browserLocaleOf(request));
      return reply.send({ data: { message: 'The registration is discarded. Nothing was created.' } });
    },
  );
};
