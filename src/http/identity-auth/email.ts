import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { emailChangeEvents } from '../event-lists/sign-in.js';
import { EmailedCode } from '../mfa/schemas.js';
import { browserLocaleOf } from '../pages/locale.js';
import { errors } from '../surfaces/operation.js';
import { Body, Email, Message } from '../surfaces/schemas.js';
import type { IdentityAuthOptions } from './options.js';
import { proofOf } from './signed-in.js';

const common = { tags: ['End-user authentication'], security: [{ bearer: [] }] };
const refusals = [
  'validation.failed',
  'auth.multiple_credentials',
  'auth.invalid_credentials',
  'principal.wrong_type',
  'identity.in_production',
  'email_change.managed',
  'email_change.domain_managed',
  'route.not_found',
  'rate_limit.exceeded',
  'service.unavailable',
] as const;

/** The address with which the signed-in person signs in. */
export const email: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, { api }) => {
  app.post(
    '/email',
    {
      config: { events: ['auth.identity_email_change_requested', 'auth.emailed_code_requested'] },
      schema: {
        ...common,
        operationId: 'identityRequestEmailChange',
        summary: 'Change your email address',
        description:
          'Emails a code to the new address, valid for ten minutes in this session; the address changes when the code is ' +
          'sent to `email/confirm`. The response is the same for every address, also for one that somebody else has, and ' +
          'the current address is notified. A newer request replaces an older one; the end of this session and a new ' +
          'password withdraw it. Requires a sign-in within the last ten minutes, with a second factor if the person has ' +
          'one; a sign-in with a passkey alone that a new password has made a second factor is 403 ' +
          '`mfa.second_factor_only`. 404 unless this environment and every production environment that the person is ' +
          'in have `allow_email_change`. People of a directory or an identity provider, and those whose address is in a verified ' +
          'domain, cannot change it (`email_change.managed`); nobody can move to an address in such a domain ' +
          '(`email_change.domain_managed`). 5 per hour and person, and 3 per hour and email address.',
        body: Body({ email: Email }),
        response: {
          200: Message,
          ...errors(...refusals, 'auth.reauthentication_required', 'mfa.second_factor_only', 'email_change.unchanged'),
        },
      },
    },
    async (request, reply) => {
      const locale = browserLocaleOf(request);
      await api.email.request(proofOf(request), { email: request.body.email, locale });
      return reply.send({ data: { message: 'We have sent an email with a code to this address.' } });
    },
  );

  app.post(
    '/email/confirm',
    {
      config: { events: emailChangeEvents },
      schema: {
        ...common,
        operationId: 'identityConfirmEmailChange',
        summary: 'Confirm your new email address',
        description:
          'By the code that was emailed to it, in the session that requested the change. That session continues; all others ' +
          'of the person end, in the whole account, and the former address is notified. Five attempts per code; ten wrong ' +
          'codes in 15 minutes, or fifty in a day, block further ones.',
        body: Body({
          code: EmailedCode,
        }),
        response: {
          200: Message,
          ...errors(...refusals, 'email_change.code_invalid', 'email_change.address_taken'),
        },
      },
    },
    async (request, reply) => {
      await api.email.confirm(proofOf(request), request.body.code);
      return reply.send({ data: { message: 'Your address is changed. Your other sessions were signed out.' } });
    },
  );
};
