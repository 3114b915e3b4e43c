import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { RecoveryCodes } from '../../mfa/schemas.js';
import { errors } from '../../surfaces/operation.js';
import { single } from '../../surfaces/schemas.js';
import type { IdentityAuthOptions } from '../options.js';
import { proofOf } from '../signed-in.js';

export const recoveryCodes: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, { api }) => {
  app.post(
    '/mfa/recovery-codes',
    {
      config: { events: ['auth.recovery_codes_renewed'] },
      schema: {
        operationId: 'identityRenewRecoveryCodes',
        summary: 'Replace your recovery codes',
        description:
          'Earlier codes stop working. Requires a sign-in within the last ten minutes, with a second factor if the person has ' +
          'an authenticator app or a key.',
        tags: ['End-user authentication'],
        security: [{ bearer: [] }],
        response: {
          201: single(Type.Object({ recovery_codes: RecoveryCodes })),
          ...errors(
            'auth.multiple_credentials',
            'auth.invalid_credentials',
            'auth.reauthentication_required',
            'identity.in_production',
            'mfa.factor_not_allowed',
            'principal.wrong_type',
            'mfa.not_enrolled',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const codes = await api.factors.renewRecoveryCodes(proofOf(request));
      return reply.code(201).send({ data: { recovery_codes: codes } });
    },
  );
};
