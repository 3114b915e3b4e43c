import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { errors } from '../surfaces/operation.js';
import { ById } from '../surfaces/schemas.js';
import type { AdminAuthOptions } from './options.js';
import { subjectOf } from './signed-in.js';

const common = { tags: ['Admin authentication'], security: [{ bearer: [] }], params: ById };
const refusals = [
  'validation.failed',
  'account.not_found',
  'account.other_sign_in_required',
  'auth.invalid_credentials',
  'principal.wrong_type',
  'service.unavailable',
] as const;

/** How people leave an Account, and how an Account ends. */
export const accountsId: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users }) => {
  app.delete(
    '/accounts/:id/membership',
    {
      config: { events: ['member.removed'] },
      schema: {
        ...common,
        operationId: 'leaveAccount',
        summary: 'Leave an account',
        description:
          'Ends your access to the account immediately, whatever your roles; your sign-in and your other accounts stay. The ' +
          'last Owner must make somebody else an Owner first, or close the account.',
        response: { 204: Type.Null(), ...errors('member.last_owner', ...refusals) },
      },
    },
    async (request, reply) => {
      await users.leaveAccount(subjectOf(request), request.params.id);
      return reply.code(204).send(null);
    },
  );

  app.delete(
    '/accounts/:id',
    {
      config: {
        events: [
          'account.closed',
          'administrator_invite.revoked',
          'auth.admin_session_revoked',
          'member.removed',
          'sso.domain.deleted',
          'sso_connection.deleted',
        ],
      },
      schema: {
        ...common,
        operationId: 'closeAccount',
        summary: 'Close an account',
        description:
          'Only for Owners, in a session with a sign-in within the last ten minutes, with a second factor if there is one. ' +
          'Repeat the slug in `confirm`: this cannot be undone. Delete its applications first. The account is gone once the ' +
          'response is sent, and its slug is free: no administrator has access, and its invites, identity providers, domains ' +
          'and webhooks stop working. Every Owner is notified by email. The rest is deleted within a day. Its former ' +
          'administrators keep their sign-in.',
        querystring: Type.Object(
          { confirm: Type.Optional(Type.String({ description: 'Required: the slug of the account.' })) },
          { additionalProperties: false },
        ),
        response: {
          204: Type.Null(),
          ...errors(
            'account.confirmation_required',
            'account.has_applications',
            'account.owner_required',
            'auth.reauthentication_required',
            ...refusals,
          ),
        },
      },
    },
    async (request, reply) => {
      await users.closeAccount(subjectOf(request), { accountId: request.params.id }, request.query.confirm);
      return reply.code(204).send(null);
    },
  );
};
