import { Type } from 'typebox';
import type { AdminCaller } from '../../domain/caller.js';
import { anyMember, errors, operation } from '../operation.js';
import { Body, Id, Nullable, Slug, single } from '../schemas.js';

const common = { tag: 'Me' } as const;
const State = Type.Object({ environment_slug: Type.String() });

export const getMe = operation({
  ...common,
  id: 'getMe',
  method: 'GET',
  path: '/me',
  summary: 'Read what the signed-in admin is and may do in the account',
  level: 'account',
  capability: anyMember,
  answers: {
    200: single(
      Type.Object({
        user: Type.Object({ id: Id, email: Type.String(), first_name: Type.String(), last_name: Type.String() }),
        account: Type.Object({ id: Id, name: Type.String(), slug: Type.String() }),
        roles: Type.Array(Type.Object({ id: Id, name: Type.String() })),
        capabilities: Type.Array(Type.String()),
      }),
    ),
  },
  async handle({ services, scope, caller }) {
    const { userId, roles, capabilities } = caller as AdminCaller;
    const { user, account } = await services.accountMembers.read(scope, userId);
    return {
      data: {
        user: { id: user.id, email: user.email, first_name: user.firstName, last_name: user.lastName },
        account: { id: account.id, name: account.name, slug: account.slug },
        roles,
        capabilities,
      },
    };
  },
});

export const getApplicationState = operation({
  ...common,
  id: 'getApplicationState',
  method: 'GET',
  path: '/me/state',
  summary: 'Read which environment the admin looked at last',
  level: 'application',
  capability: 'applications.view',
  answers: { 200: single(Type.Object({ environment_slug: Nullable(Type.String()) })) },
  handle: async ({ services, scope, caller }) => ({
    data: { environment_slug: await services.applicationStates.read(scope, (caller as AdminCaller).userId) },
  }),
});

export const putApplicationState = operation({
  ...common,
  id: 'putApplicationState',
  method: 'PUT',
  path: '/me/state',
  summary: 'Store which environment the admin looked at last',
  level: 'application',
  capability: 'applications.view',
  body: Body({ environment_slug: Slug }),
  answers: { 200: single(State), ...errors('environment.unknown_slug', 'validation.failed') },
  async handle({ services, scope, caller, body }) {
    await services.applicationStates.store(scope, (caller as AdminCaller).userId, body.environment_slug);
    return { data: { environment_slug: body.environment_slug } };
  },
});
