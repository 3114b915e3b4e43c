import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import type { SignInOutcome } from '../../domain/users/sign-in.js';
import { errors } from '../operation.js';
import { Body, Email, Id, OneOf, single } from '../schemas.js';
import { browserOf, NamedView, presentNamed, presentSignedIn, SignedInFields } from './answers.js';
import { createAdminCookies } from './cookies.js';
import type { AdminAuthOptions } from './options.js';
import { sameOrigin } from './origin.js';

const perAddress = { name: 'admin-login', points: 5, windowSeconds: 15 * 60 };

const SignedInOutcome = Type.Object(
  { outcome: OneOf(['authenticated', 'account_required']), ...SignedInFields },
  { description: '`account_required`: signed in, without an account yet; `account` and `application` are null.' },
);
const SelectionRequired = Type.Object(
  {
    outcome: OneOf(['application_selection_required']),
    selection_token: Type.String({ description: 'For `select-application`; works once, within five minutes.' }),
    applications: Type.Array(Type.Object({ ...NamedView.properties, account: NamedView })),
  },
  { description: 'The password was right, and there are several applications to choose from. No session yet.' },
);

export const login: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users, limits, baseUrl }) => {
  const cookies = createAdminCookies(baseUrl);
  app.post(
    '/login',
    {
      config: { events: ['auth.admin_signed_in', 'auth.admin_sign_in_failed'] },
      onRequest: [sameOrigin(baseUrl), limits.exact(perAddress)],
      schema: {
        operationId: 'login',
        summary: 'Sign in with a password',
        description:
          'Answers by `outcome`. A session comes with the admin refresh cookie and the session-marker cookie. Whatever is wrong, the refusal is the same, after the same time. 5 per 15 minutes per IP.',
        tags: ['Admin authentication'],
        body: Body({
          email: Email,
          password: Type.String({ maxLength: 1024 }),
          application_id: Type.Optional(Id),
        }),
        response: {
          200: single(Type.Union([SignedInOutcome, SelectionRequired])),
          ...errors(
            'validation.failed',
            'auth.invalid_credentials',
            'origin.foreign',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { email, password, application_id: applicationId } = request.body;
      const result = await users.signIn.signIn({ email, password, applicationId, ...browserOf(request) });
      if (result.outcome !== 'application_selection_required') cookies.set(reply, result);
      return reply.send({ data: presentOutcome(result) });
    },
  );
};

export function presentOutcome(result: SignInOutcome) {
  if (result.outcome !== 'application_selection_required') {
    return { outcome: result.outcome, ...presentSignedIn(result) };
  }
  return {
    outcome: result.outcome,
    selection_token: result.selectionToken,
    applications: result.applications.map(({ account, ...application }) => ({
      ...presentNamed(application),
      account: presentNamed(account),
    })),
  };
}
