import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { browserOf } from '../browsers/browser-of.js';
import { accountEvents } from '../event-lists/new-account.js';
import { browserLocaleOf } from '../pages/locale.js';
import { requestIdOf } from '../surfaces/idempotency.js';
import { errors } from '../surfaces/operation.js';
import { Body, Name, Slug, single } from '../surfaces/schemas.js';
import { presentSignedIn, SignedInFields } from './answers.js';
import { createAdminCookies } from './cookies.js';
import { creationLimit } from './limits.js';
import type { AdminAuthOptions } from './options.js';
import { subjectOf } from './signed-in.js';

const perUser = { name: 'admin-accounts', points: 10, windowSeconds: 3600 };

export const accounts: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users, limits, baseUrl }) => {
  const cookies = createAdminCookies(baseUrl);
  app.post(
    '/accounts',
    {
      config: {
        events: [...accountEvents, 'auth.account_intent_parked'],
        isRepeatable: true,
      },
      ...creationLimit(limits, perUser),
      schema: {
        operationId: 'createAccount',
        summary: 'Create an account',
        description:
          'Creates it with a Free subscription, the caller as its Owner, a first application, and the environments ' +
          '`development` and `production` of that application. Starts a session that is bound to them, and sets both cookies; ' +
          'the calling session continues. A user without a password (who signs in only through SSO) is refused with ' +
          '`account.password_required`: the request waits (24 hours unless configured otherwise), and a link for setting a ' +
          'password is emailed. A member of 1 000 accounts can create no more. Takes an `Idempotency-Key`.',
        tags: ['Admin authentication'],
        security: [{ bearer: [] }],
        body: Body({
          account_name: Name,
          application_name: Name,
          account_slug: Type.Optional(Slug),
        }),
        response: {
          201: single(Type.Object(SignedInFields)),
          ...errors(
            'validation.failed',
            'auth.invalid_credentials',
            'principal.wrong_type',
            'account.password_required',
            'account.slug_taken',
            'account.limit_reached',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { account_name, application_name, account_slug } = request.body;
      const signedIn = await users.accounts.create(
        {
          accountName: account_name.trim(),
          applicationName: application_name.trim(),
          accountSlug: account_slug,
          locale: browserLocaleOf(request),
        },
        { subject: subjectOf(request), claimId: requestIdOf(request), ...browserOf(request) },
      );
      cookies.set(reply, signedIn);
      return reply.code(201).send({ data: presentSignedIn(signedIn) });
    },
  );
};
