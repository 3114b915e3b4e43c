import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { DomainError } from '../../domain/errors.js';
import { browserOf } from '../browsers/browser-of.js';
import { accountEvents } from '../event-lists/new-account.js';
import { requestIdOf } from '../surfaces/idempotency.js';
import { errors } from '../surfaces/operation.js';
import { single } from '../surfaces/schemas.js';
import { presentSignedIn, SignedInFields } from './answers.js';
import { createAdminCookies } from './cookies.js';
import { creationLimit } from './limits.js';
import type { AdminAuthOptions } from './options.js';
import { subjectOf, userOf } from './signed-in.js';

const perUser = { name: 'admin-accounts-resume', points: 10, windowSeconds: 3600 };
const common = { tags: ['Admin authentication'], security: [{ bearer: [] }] };
const refusals = ['auth.invalid_credentials', 'principal.wrong_type', 'service.unavailable'] as const;

/** The account whose names are parked for the signed-in user (specification, "States and transitions"). */
export const accountsResume: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users, limits, baseUrl }) => {
  const cookies = createAdminCookies(baseUrl);
  const path = '/accounts/resume';

  app.get(
    path,
    {
      schema: {
        ...common,
        operationId: 'readParkedAccount',
        summary: 'Get the names of the account that is waiting to be created',
        description:
          'They were entered by somebody who was not signed in: have them reviewed before you resume. If several requests are ' +
          'waiting, the latest one counts; resuming it discards the older ones.',
        response: {
          200: single(Type.Object({ account_name: Type.String(), application_name: Type.String() })),
          ...errors(...refusals, 'account_intent.not_found'),
        },
      },
    },
    async (request, reply) => {
      const parked = await users.accounts.pending(userOf(request));
      if (!parked) throw new DomainError('account_intent.not_found');
      return reply.send({ data: { account_name: parked.accountName, application_name: parked.applicationName } });
    },
  );

  app.delete(
    path,
    {
      config: { events: ['auth.account_intent_discarded'] },
      schema: {
        ...common,
        operationId: 'discardParkedAccount',
        summary: 'Discard the accounts that are waiting to be created',
        description: 'Discards all waiting requests of the user. It is not an error if there are none.',
        response: { 204: Type.Null(), ...errors(...refusals) },
      },
    },
    async (request, reply) => {
      await users.accounts.discard(userOf(request));
      return reply.code(204).send(null);
    },
  );

  app.post(
    path,
    {
      config: {
        events: [
          ...accountEvents,
          'auth.account_intent_consumed',
          'auth.account_intent_discarded',
          'auth.account_intent_failed',
        ],
        isRepeatable: true,
      },
      ...creationLimit(limits, perUser),
      schema: {
        ...common,
        operationId: 'resumeAccount',
        summary: 'Create the account that is waiting to be created',
        description:
          'The request is claimed before anything is created, so of several concurrent calls one gets the account and the ' +
          'others 404. A retry with the same `Idempotency-Key` gets the account again. Starts a session in the same way as ' +
          'creating an account. A user without a password is refused with `account.password_required`, as there; the request ' +
          'keeps waiting for the link that was emailed. While the processes of the service are unavailable, the response is ' +
          '503; the same request with the same key may then be repeated.',
        response: {
          201: single(Type.Object(SignedInFields)),
          ...errors(
            ...refusals,
            'account.password_required',
            'account_intent.not_found',
            'account.slug_taken',
            'rate_limit.exceeded',
          ),
        },
      },
    },
    async (request, reply) => {
      const caller = { subject: subjectOf(request), claimId: requestIdOf(request), ...browserOf(request) };
      const signedIn = await users.accounts.resume(caller);
      cookies.set(reply, signedIn);
      return reply.code(201).send({ data: presentSignedIn(signedIn) });
    },
  );
};
