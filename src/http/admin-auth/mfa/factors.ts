import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { presentFactor } from '../../mfa/schemas.js';
import { browserLocaleOf } from '../../pages/locale.js';
import { errors } from '../../surfaces/operation.js';
import { Body, ById, Label, single } from '../../surfaces/schemas.js';
import type { AdminAuthOptions } from '../options.js';
import { subjectOf, userOf } from '../signed-in.js';
import { common, FactorView, unprovenErrors } from './shared.js';

const Summary = Type.Object({
  factors: Type.Array(FactorView),
  recovery_codes_generation: Type.Integer({ description: '0 if there are none.' }),
  recovery_codes_remaining: Type.Integer(),
});
const refusals = [
  'auth.invalid_credentials',
  'principal.wrong_type',
  'rate_limit.exceeded',
  'service.unavailable',
] as const;

export const factors: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users }) => {
  const { own } = users.mfa;

  app.get(
    '/mfa/factors',
    {
      schema: {
        ...common,
        operationId: 'adminListFactors',
        summary: 'List your second factors',
        description: 'Second factors are shared by all accounts of the user. Secrets are not returned again.',
        response: { 200: single(Summary), ...errors(...refusals) },
      },
    },
    async (request, reply) => {
      const { factors: list, generation, remaining } = await own.summary(userOf(request));
      return reply.send({
        data: {
          factors: list.map(presentFactor),
          recovery_codes_generation: generation,
          recovery_codes_remaining: remaining,
        },
      });
    },
  );

  app.patch(
    '/mfa/factors/:id',
    {
      config: { events: ['auth.admin_mfa_renamed'] },
      schema: {
        ...common,
        operationId: 'adminRenameFactor',
        description:
          "Changes only its name; no second factor is required. A session through an account's identity provider that is not " +
          'accepted by another account of the user cannot change it: `account.other_sign_in_required`.',
        summary: 'Rename a second factor',
        params: ById,
        body: Body({ label: Label }),
        response: {
          200: single(FactorView),
          ...errors('validation.failed', 'account.other_sign_in_required', 'mfa.factor_not_found', ...refusals),
        },
      },
    },
    async (request, reply) => {
      const { params, body } = request;
      return reply.send({ data: presentFactor(await own.rename(subjectOf(request), params.id, body.label.trim())) });
    },
  );

  app.delete(
    '/mfa/factors/:id',
    {
      config: { events: ['auth.admin_mfa_removed'] },
      schema: {
        ...common,
        operationId: 'adminRemoveFactor',
        summary: 'Remove a second factor',
        description:
          'Requires a sign-in within the last ten minutes with a second factor. The last factor cannot be removed while an ' +
          'account of the user requires one; the recovery codes are removed with it. The user is notified by email.',
        params: ById,
        response: {
          204: Type.Null(),
          ...errors('validation.failed', ...unprovenErrors, 'mfa.factor_not_found', 'mfa.last_factor', ...refusals),
        },
      },
    },
    async (request, reply) => {
      await own.remove(subjectOf(request), request.params.id, browserLocaleOf(request));
      return reply.code(204).send(null);
    },
  );
};
