import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { presentFactor } from '../../mfa/schemas.js';
import { errors } from '../../surfaces/operation.js';
import { Body, ById, Label, single } from '../../surfaces/schemas.js';
import type { IdentityAuthOptions } from '../options.js';
import { proofOf } from '../signed-in.js';
import { FactorView } from './factor-view.js';

/** Renames one of the person's second factors. */
export const factorName: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, { api }) => {
  app.patch(
    '/mfa/factors/:id',
    {
      config: { events: ['auth.mfa_renamed'] },
      schema: {
        operationId: 'identityRenameFactor',
        summary: 'Rename a second factor',
        description: 'Changes only its name; no second factor is required.',
        tags: ['End-user authentication'],
        security: [{ bearer: [] }],
        params: ById,
        body: Body({ label: Label }),
        response: {
          200: single(FactorView),
          ...errors(
            'validation.failed',
            'auth.invalid_credentials',
            'identity.in_production',
            'principal.wrong_type',
            'mfa.factor_not_found',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const renamed = await api.factors.rename(proofOf(request), request.params.id, request.body.label.trim());
      return reply.send({ data: presentFactor(renamed) });
    },
  );
};
