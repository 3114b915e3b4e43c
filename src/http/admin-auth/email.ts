import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { DomainError } from '../../domain/errors.js';
import { after } from '../../platform/clock.js';
import { secretCookie } from '../browsers/secret-cookie.js';
import { browserLocaleOf } from '../pages/locale.js';
import { errors } from '../surfaces/operation.js';
import { Body, Email, Message, single, Timestamp } from '../surfaces/schemas.js';
import { byMailAddress, byUser } from './limits.js';
import type { AdminAuthOptions } from './options.js';
import { subjectOf, userOf } from './signed-in.js';

const perUser = { name: 'admin-email-change', points: 5, windowSeconds: 3600 };
const perMailAddress = { name: 'admin-email-change-address', points: 3, windowSeconds: 3600 };
const common = { tags: ['Admin authentication'], security: [{ bearer: [] }] };
const refusals = ['auth.invalid_credentials', 'principal.wrong_type', 'service.unavailable'] as const;

/** The address with which the signed-in user signs in. Its answer sets a cookie: register it with `sameOrigin`. */
export const email: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, options) => {
  const { users, limits, baseUrl, now } = options;
  const browserCookie = secretCookie(baseUrl, 'admin_email_change');

  app.post(
    '/email',
    {
      config: { events: ['auth.admin_email_change_requested', 'auth.admin_email_change_withdrawn'] },
      // Counted whether or not the address is known: each request sends a mail to it.
      preHandler: [limits.exact(perUser, byUser), limits.exact(perMailAddress, byMailAddress)],
      schema: {
        ...common,
        operationId: 'requestEmailChange',
        summary: 'Change the email address that you sign in with',
        description:
          'Emails a link to the new address, valid for 24 hours; the address changes when it is confirmed. The response is ' +
          'the same for every address, also for one that somebody else signs in with, and sets a cookie with which this ' +
          'browser confirms with one click. A newer request replaces an older one; the end of this session and a new ' +
          'password withdraw it. The current address is notified. Requires a sign-in within the last ten minutes, with a ' +
          "second factor if there is one. A session through an account's identity provider that is not accepted by another " +
          'account of the user is refused with `account.other_sign_in_required`.',
        body: Body({ email: Email }),
        response: {
          200: Message,
          ...errors(
            ...refusals,
            'validation.failed',
            'auth.reauthentication_required',
            'account.other_sign_in_required',
            'email_change.unchanged',
            'origin.foreign',
            'rate_limit.exceeded',
          ),
        },
      },
    },
    async (request, reply) => {
      const locale = browserLocaleOf(request);
      const wanted = { email: request.body.email, locale };
      const { browser, livesMs } = await users.emailChanges.request(subjectOf(request), wanted);
      const at = now();
      browserCookie.set(reply, browser, after(at, livesMs), at);
      const message = 'We have sent an email to this address. Your address changes when you confirm the link in it.';
      return reply.send({ data: { message } });
    },
  );
};

/** The new address until it is confirmed. */
export const pendingEmail: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users }) => {
  app.get(
    '/email',
    {
      schema: {
        ...common,
        operationId: 'readEmailChange',
        summary: 'Get the new email address that is waiting to be confirmed',
        description: 'None is waiting after its confirmation, 24 hours, or the end of the session that requested it.',
        response: {
          200: single(Type.Object({ email: Type.String(), requested_at: Timestamp, expires_at: Timestamp })),
          ...errors(...refusals, 'email_change.not_found'),
        },
      },
    },
    async (request, reply) => {
      const pending = await users.emailChanges.pending(userOf(request));
      if (!pending) throw new DomainError('email_change.not_found');
      const times = { requested_at: pending.createdAt.toISOString(), expires_at: pending.expiresAt.toISOString() };
      return reply.send({ data: { email: pending.email, ...times } });
    },
  );

  app.delete(
    '/email',
    {
      config: { events: ['auth.admin_email_change_withdrawn'] },
      schema: {
        ...common,
        operationId: 'withdrawEmailChange',
        summary: 'Keep the current email address',
        description: 'The link to the new address stops working. It is not an error if none is waiting.',
        response: { 204: Type.Null(), ...errors(...refusals) },
      },
    },
    async (request, reply) => {
      await users.emailChanges.withdraw(userOf(request));
      return reply.code(204).send(null);
    },
  );
};
