import { Type } from 'typebox';
import { anyMember, errors, operation } from '../surfaces/operation.js';
import { Body, Id, NamedView, Nullable, Resource, Slug, single, UserView } from '../surfaces/schemas.js';
import { viewedBy } from './access.js';
import { adminCallerOf } from './admin-caller.js';
import { Limits } from './role-limits.js';

const common = { tag: 'Me' } as const;
const State = Type.Object({ environment_slug: Type.String() });

export const getMe = operation({
  ...common,
  id: 'getMe',
  method: 'GET',
  path: '/me',
  summary: 'Get the signed-in administrator with their rights in the account',
  description: 'Each role grants its `capabilities` in the whole account, or within its `limits`.',
  level: 'account',
  capability: anyMember,
  answers: {
    200: single(
      Type.Object({
        user: UserView,
        account: NamedView,
        roles: Type.Array(
          Resource('OwnAdministratorRole', {
            id: Id,
            name: Type.String(),
            limits: Limits,
            capabilities: Type.Array(Type.String()),
          }),
        ),
        capabilities: Type.Array(Type.String(), {
          description: 'In the account as a whole: what the roles without limits grant together.',
        }),
      }),
    ),
  },
  async handle({ services, scope, caller }) {
    const { userId, roles, capabilities } = adminCallerOf(caller);
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
  summary: 'Get the environment that the administrator opened last',
  level: 'application',
  capability: 'applications.view',
  answers: { 200: single(Type.Object({ environment_slug: Nullable(Type.String()) })) },
  inPart: true,
  async handle({ services, scope, caller }) {
    const { userId } = adminCallerOf(caller);
    return { data: { environment_slug: await services.applicationStates.read(scope, viewedBy(caller), userId) } };
  },
});

export const putApplicationState = operation({
  ...common,
  id: 'putApplicationState',
  method: 'PUT',
  path: '/me/state',
  summary: 'Set the environment that the administrator opened last',
  level: 'application',
  capability: 'applications.view',
  inPart: true,
  body: Body({ environment_slug: Slug }),
  events: [],
  answers: { 200: single(State), ...errors('environment.unknown_slug', 'validation.failed') },
  async handle({ services, scope, caller, body }) {
    const { userId } = adminCallerOf(caller);
    await services.applicationStates.store(scope, viewedBy(caller), userId, body.environment_slug);
    return { data: { environment_slug: body.environment_slug } };
  },
});
