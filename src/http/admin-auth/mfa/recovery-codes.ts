import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { RecoveryCodes } from '../../mfa/schemas.js';
import { browserLocaleOf } from '../../pages/locale.js';
import { errors } from '../../surfaces/operation.js';
import { single } from '../../surfaces/schemas.js';
import type { AdminAuthOptions } from '../options.js';
import { subjectOf } from '../signed-in.js';
import { common, unprovenErrors } from './shared.js';

export const recoveryCodes: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users }) => {
  app.post(
    '/mfa/recovery-codes',
    {
      config: { events: ['auth.admin_recovery_codes_renewed'] },
      schema: {
        ...common,
        operationId: 'adminRenewRecoveryCodes',
        summary: 'Replace your recovery codes',
        description:
          'Earlier codes stop working. Requires a sign-in within the last ten minutes with a second factor. The user is ' +
          'notified by email.',
        response: {
          201: single(Type.Object({ recovery_codes: RecoveryCodes })),
          ...errors(
            'auth.invalid_credentials',
            ...unprovenErrors,
            'principal.wrong_type',
            'mfa.not_enrolled',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const codes = await users.mfa.own.renewRecoveryCodes(subjectOf(request), browserLocaleOf(request));
      return reply.code(201).send({ data: { recovery_codes: codes } });
    },
  );
};
