import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { presentFactor } from '../../mfa/schemas.js';
import { errors } from '../../surfaces/operation.js';
import { ById, Nullable, single, Timestamp } from '../../surfaces/schemas.js';
import type { IdentityAuthOptions } from '../options.js';
import { proofOf, provenOf, subjectOf } from '../signed-in.js';
import { FactorView } from './factor-view.js';

const Summary = Type.Object({
  factors: Type.Array(FactorView),
  recovery_codes_generation: Type.Integer(),
  recovery_codes_remaining: Type.Integer(),
  mfa_admin_reset_at: Nullable(Timestamp),
});

export const factors: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, { api }) => {
  app.get(
    '/mfa/factors',
    {
      schema: {
        operationId: 'identityListFactors',
        summary: 'List your second factors',
        description: 'Second factors are shared by all environments of the account. Secrets are not returned again.',
        tags: ['End-user authentication'],
        security: [{ bearer: [] }],
        response: {
          200: single(Summary),
          ...errors('auth.invalid_credentials', 'principal.wrong_type', 'rate_limit.exceeded', 'service.unavailable'),
        },
      },
    },
    async (request, reply) => {
      const {
        factors: list,
        generation,
        remaining,
        adminResetAt,
      } = await api.factors.summary(subjectOf(provenOf(request)));
      return reply.send({
        data: {
          factors: list.map(presentFactor),
          recovery_codes_generation: generation,
          recovery_codes_remaining: remaining,
          mfa_admin_reset_at: adminResetAt?.toISOString() ?? null,
        },
      });
    },
  );

  app.delete(
    '/mfa/factors/:id',
    {
      config: { events: ['identity.mfa_removed', 'auth.mfa_grace_reset'] },
      schema: {
        operationId: 'identityRemoveFactor',
        summary: 'Remove a second factor',
        description:
          'Requires a sign-in within the last ten minutes, with a second factor if the person has an authenticator app or a ' +
          'key. The last factor cannot be removed if the environment requires one; the recovery codes are removed with it.',
        tags: ['End-user authentication'],
        security: [{ bearer: [] }],
        params: ById,
        response: {
          204: Type.Null(),
          ...errors(
            'validation.failed',
            'auth.invalid_credentials',
            'auth.reauthentication_required',
            'identity.in_production',
            'principal.wrong_type',
            'mfa.factor_not_found',
            'mfa.last_factor',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      await api.factors.remove(proofOf(request), request.params.id);
      return reply.code(204).send(null);
    },
  );
};
