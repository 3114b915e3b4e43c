import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { browserOf } from '../browsers/browser-of.js';
import { errors } from '../surfaces/operation.js';
import { Body, Id, single } from '../surfaces/schemas.js';
import { presentSignedIn, SignedInFields } from './answers.js';
import { createAdminCookies } from './cookies.js';
import type { AdminAuthOptions } from './options.js';
import { sameOrigin } from './origin.js';

export const selectApplication: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (
  app,
  { users, baseUrl, adminAppUrl },
) => {
  const cookies = createAdminCookies(baseUrl);
  app.post(
    '/select-application',
    {
      config: { events: ['auth.admin_signed_in'] },
      onRequest: sameOrigin({ baseUrl, adminAppUrl }),
      schema: {
        operationId: 'selectApplication',
        summary: 'Complete a sign-in by choosing an application',
        description:
          'Takes the `selection_token` of `login`, and sets the same cookies. `account.sso_required`: the account requires ' +
          'single sign-on meanwhile.',
        tags: ['Admin authentication'],
        body: Body({ selection_token: Type.String({ maxLength: 2048 }), application_id: Id }),
        response: {
          200: single(Type.Object(SignedInFields)),
          ...errors(
            'validation.failed',
            'auth.invalid_credentials',
            'origin.foreign',
            'account.sso_required',
            'application.not_found',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { selection_token: selectionToken, application_id: applicationId } = request.body;
      const signedIn = await users.signIn.selectApplication({ selectionToken, applicationId, ...browserOf(request) });
      cookies.set(reply, signedIn);
      return reply.send({ data: presentSignedIn(signedIn) });
    },
  );
};
