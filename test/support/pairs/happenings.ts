import type { InjectOptions } from 'fastify';
import type { TestApi } from '../api.js';
import { type Declared, everyOperation } from '../operations/declared.js';
import { exampleOf, type Given } from '../operations/example.js';
import { examples } from '../operations/examples-account.js';
import { operations } from '../scim.js';
import type { World } from './world.js';

/** A request that may change something. */
export interface Happening {
  name: string;
  request(given: Given): Promise<InjectOptions>;
}

const own = /^(leaveAccount|closeAccount|identityRevokeSession|identityRenameFactor|identityRemoveFactor)$/;

/** Returns the declared operations that change something, by their examples, and what others do. */
export async function happeningsOf(api: TestApi, world: World): Promise<Happening[]> {
  const declared = await everyOperation(api.app);
  const isPublic = new Set(declared.filter(({ surface }) => surface === 'public').map(({ example }) => example));
  // What both surfaces offer has one handler.
  const writing = declared.filter(
    ({ surface, method, example }) =>
      method !== 'GET' &&
      (surface === 'public' ||
        (surface === 'portal' && !isPublic.has(example)) ||
        (surface === 'own' && own.test(example))),
  );
  const byDeclaration = writing.map((one) => ({ name: one.name, request: (given: Given) => requestOf(one, given) }));
  return [...byDeclaration, ...byDirectories(world), ...byPeople(world)].filter(({ name }) => !readsOnly.test(name));
}

/** Decisions and searches are asked with POST. */
const readsOnly = /^(evaluate|evaluateBulk|explain|access[A-Z]\w+|identityInviteInfo)$/;

async function requestOf(declared: Declared, given: Given): Promise<InjectOptions> {
  const sent = await exampleOf(examples, declared)(given);
  const by = declared.url.startsWith('/v1/identity') ? 'identity' : declared.surface === 'public' ? 'key' : 'owner';
  return given.place.request(declared, sent, by);
}

function byDirectories({ scim }: World): Happening[] {
  return scim.flatMap(({ by, token, user, group }) => {
    const send = (name: string, method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, payload?: object) => ({
      name: `${by} ${name}`,
      request: async () => ({
        method,
        url: `/scim/v2${url}`,
        headers: { authorization: `Bearer ${token}`, ...(payload && { 'content-type': 'application/scim+json' }) },
        ...(payload && { payload: JSON.stringify(payload) }),
      }),
    });
    const member = [{ value: user.id }];
    const change = (op: string, path: string, value?: unknown) =>
      operations({ op, path, ...(value !== undefined && { value }) });
    return [
      send('adds a person', 'POST', '/Users', { userName: 'same@example.com' }),
      send('suspends its person', 'PATCH', `/Users/${user.id}`, change('replace', 'active', false)),
      send('renames its person', 'PUT', `/Users/${user.id}`, {
        userName: user.userName,
        name: { givenName: 'Another' },
      }),
      send('gives its person another address', 'PUT', `/Users/${user.id}`, { userName: 'same@example.com' }),
      send('deletes its person', 'DELETE', `/Users/${user.id}`),
      send('adds a group', 'POST', '/Groups', { displayName: 'same', members: member }),
      send('adds its person to its group', 'PATCH', `/Groups/${group}`, change('add', 'members', member)),
      send(
        'takes its person out of its group',
        'PATCH',
        `/Groups/${group}`,
        change('remove', `members[value eq "${user.id}"]`),
      ),
      send('renames its group', 'PATCH', `/Groups/${group}`, change('replace', 'displayName', 'same')),
      send('empties its group', 'PUT', `/Groups/${group}`, { displayName: 'Staff', members: [] }),
      send('deletes its group', 'DELETE', `/Groups/${group}`),
    ];
  });
}

function byPeople({ ana, tokens, owners, place }: World): Happening[] {
  const post = (name: string, url: string, payload: object, headers: Record<string, string> = {}, method = 'POST') => ({
    name,
    request: async () => ({ method: method as 'POST', url, payload, headers }),
  });
  const password = 'violet tractor 19';
  const auth = '/v1/identity/auth';
  return [
    post('an invite is accepted', `${auth}/accept-invite`, { token: tokens.identityInvite, password }),
    post('an invitation is accepted', `${auth}/accept-invite`, { token: tokens.organizationInvitation, password }),
    post("an administrator's invite is accepted", '/v1/auth/accept-invite', {
      token: tokens.administratorInvite,
      password,
      first_name: 'Ivo',
      last_name: 'Kern',
    }),
    post('Ana signs in', `${auth}/login`, { client_id: ana.clientId, email: ana.email, password: ana.password }),
    post("Ana's tokens are refreshed", `${auth}/refresh`, { client_id: ana.clientId, refresh_token: ana.refreshToken }),
    post('Ana signs out', `${auth}/logout`, {}, ana.headers),
    post(
      'Ana changes her password',
      `${auth}/password`,
      { current_password: ana.password, password },
      ana.headers,
      'PUT',
    ),
    post('Ana begins with an app', `${auth}/mfa/totp/enroll`, {}, ana.headers),
    ...owners.map((headers, i) => ({
      name: `owner ${i + 1} leaves the Account`,
      request: async () => ({
        method: 'DELETE' as const,
        url: `/v1/auth/accounts/${place.scope.accountId}/membership`,
        headers,
      }),
    })),
  ];
}
