import { linkTokenOf } from '../identity-invites.js';
import type { Declared } from '../operations/declared.js';
import { exampleOf } from '../operations/example.js';
import { examples } from '../operations/examples-account.js';
import type { Place } from '../operations/place.js';
import { actorOf, ofOne, type Step } from './at.js';
import { directorySteps } from './directory-steps.js';
import { givenBy, type Sent, type World } from './world.js';

/** Prepares a request of an operation by its example. */
export async function declaredStep(world: World, place: Place, declared: Declared): Promise<() => Promise<Sent>> {
  const sent = await exampleOf(examples, declared)(givenBy(world, place));
  const by = declared.surface === 'portal' ? 'owner' : world.random.below(3) === 0 ? 'identity' : 'key';
  return async () => ({ answer: await place.call(declared, sent, by), actor: actorOf(place, by) });
}

const password = 'violet tractor 19';
const people: Record<string, Step> = {
  createPerson: ({ call, maybe, address, profile, some }) =>
    call('POST', '/identities', {
      ...profile(),
      email: address(),
      is_active: maybe(false),
      email_verified: maybe(true),
      password: maybe(password),
      role_id: maybe(some('role')),
    }),
  importPeople: ({ call, maybe, address, profile, some, random }) => {
    const one = () => ({ email: address(), ...profile(), is_active: maybe(false), role_id: maybe(some('role')) });
    return call('POST', '/identities/bulk', { identities: Array.from({ length: random.between(1, 4) }, one) });
  },
  changePerson: ofOne('identity', ({ call, maybe, address, profile, oneOf }, id) =>
    call('PATCH', `/identities/${id}`, {
      ...profile(),
      email: maybe(address()),
      email_verified: maybe(oneOf(true, false)),
    }),
  ),
  removePerson: ofOne('identity', ({ call }, id) => call('DELETE', `/identities/${id}`)),
  letInOrOut: ofOne('identity', ({ call, oneOf }, id) =>
    call('POST', `/identities/${id}/${oneOf('activate', 'deactivate')}`),
  ),
  setPassword: ofOne('identity', ({ call, oneOf }, id) =>
    call('PUT', `/identities/${id}/password`, { password: oneOf(password, 'amber tractor 20') }),
  ),
  signIn: ofOne('identity', ({ api, place, picture }, id) => {
    const { email } = picture.get(`identity ${id} ${place.scope.environmentId}`) ?? {};
    if (!email) return undefined;
    const payload = { client_id: place.identity.clientId, email, password };
    const sent = api.app.inject({ method: 'POST', url: '/v1/identity/auth/login', payload });
    return sent.then((answer) => ({ answer, actor: null }));
  }),
  invite: ({ call, maybe, address, some }) =>
    call('POST', '/identity-invites', { email: address(), intent: maybe('directory'), role_id: maybe(some('role')) }),
  acceptInvite: ({ api, place, rows, random }) => {
    const isHere = ({ environment_id }: Record<string, unknown>) => environment_id === place.scope.environmentId;
    const invites = rows('identity_invite', 'organization_invitation').filter(([, row]) => isHere(row));
    const [key, row] = random.of(invites.slice(-6)) ?? [];
    if (!key || !row) return undefined;
    const payload = { token: linkTokenOf(key.split(' ')[1] as string, Number(row.link_number)), password };
    const sent = api.app.inject({ method: 'POST', url: '/v1/identity/auth/accept-invite', payload });
    return sent.then((answer) => ({ answer, actor: 'identity' }));
  },
};

const tree: Record<string, Step> = {
  createNode: ({ call, oneOf, some, random }) =>
    call('POST', '/nodes', {
      node_type: oneOf('unit', 'organization'),
      name: `N${random.below(99)}`,
      parent_node_id: some('node') ?? null,
    }),
  changeNode: ofOne('node', ({ call, maybe, oneOf, some, versionOf, random }, id) => {
    const texts = {
      name: maybe(oneOf('A', 'B')),
      description: maybe(oneOf('x', null)),
      slug: maybe(`s${random.below(9)}`),
    };
    const rest = { status: maybe(oneOf('active', 'inactive')), metadata: maybe(oneOf({}, { a: 1 })) };
    return call(
      'PATCH',
      `/nodes/${id}`,
      { ...texts, ...rest, parent_node_id: maybe(some('node')) },
      versionOf(`node ${id}`),
    );
  }),
  removeSubtree: ofOne('node', ({ call, oneOf, versionOf }, id) =>
    call('DELETE', `/nodes/${id}?cascade=${oneOf(true, true, false)}`, undefined, versionOf(`node ${id}`)),
  ),
  changeOrganization: ofOne('organization', ({ call, maybe, oneOf, versionOf }, id) => {
    const body = { name: maybe(oneOf('A', 'B')), description: maybe(oneOf('x', null)), metadata: maybe({ b: 2 }) };
    return call('PATCH', `/organizations/${id}`, body, versionOf(`node ${id}`));
  }),
  addMember: ofOne('organization', ({ call, some, several }, id) => {
    const body = { identity_id: some('identity'), role_ids: several('role', 2) };
    return body.identity_id ? call('POST', `/organizations/${id}/members`, body) : undefined;
  }),
  setMember: ofOne('organization', ({ call, some, several }, id) => {
    const who = some('organizationMember', id);
    return who ? call('PATCH', `/organizations/${id}/members/${who}`, { role_ids: several('role', 2) }) : undefined;
  }),
  removeMember: ofOne('organization', ({ call, some }, id) => {
    const who = some('organizationMember', id);
    return who ? call('DELETE', `/organizations/${id}/members/${who}`) : undefined;
  }),
  inviteMember: ofOne('organization', ({ call, address, several }, id) =>
    call('POST', `/organizations/${id}/invitations`, { email: address(), role_ids: several('role', 2) }),
  ),
};

const access: Record<string, Step> = {
  assign: ({ call, several, oneOf, later }) => {
    const window = () => ({ effective_from: oneOf(null, later(1)), effective_to: oneOf(null, later(2), later(9)) });
    const places = several('role', 2).flatMap((role_id) => several('node', 2).map((node_id) => ({ role_id, node_id })));
    const wanted = several('identity', 2).flatMap((identity_id) =>
      places.map((at) => ({ identity_id, ...at, ...window() })),
    );
    return wanted.length > 0 ? call('POST', '/role-assignments', { role_assignments: wanted }) : undefined;
  },
  unassign: ({ call, several }) => {
    const assignment_ids = several('assignment', 3);
    return assignment_ids.length > 0 ? call('DELETE', '/role-assignments', { assignment_ids }) : undefined;
  },
  changeRole: ofOne('role', ({ call, maybe, oneOf, versionOf, random }, id) => {
    const texts = { name: maybe(`R${random.below(5)}`), description: maybe(oneOf('x', null)) };
    return call('PATCH', `/roles/${id}`, { ...texts, is_active: maybe(oneOf(true, false)) }, versionOf(`role ${id}`));
  }),
  setPermissions: ofOne('role', ({ call, rows, place, random, versionOf }, id) => {
    const there = rows('permission').filter(([, row]) => row.environment_id === place.scope.environmentId);
    const permission_keys = there.filter(() => random.below(9) === 0).map(([, { key }]) => key);
    return call('PUT', `/roles/${id}/permissions`, { permission_keys }, versionOf(`role ${id}`));
  }),
  removeRole: ofOne('role', ({ call, versionOf }, id) =>
    call('DELETE', `/roles/${id}`, undefined, versionOf(`role ${id}`)),
  ),
  removePermission: ofOne('permission', ({ call, versionOf }, id) =>
    call('DELETE', `/permissions/${id}`, undefined, versionOf(`permission ${id}`)),
  ),
};

/** Steps that make people, nodes, roles and directories meet; the examples of operations do everything else once. */
export const ownSteps: Record<string, Step> = { ...people, ...tree, ...access, ...directorySteps };
