import { operations } from '../scim.js';
import type { At, Step } from './at.js';
import { idsOf, newDirectory, type Sent } from './world.js';

/** Sends a request of a directory: of that of the first Environment, or of one of its organizations. */
async function scim({ random, directories }: At, ...request: ['POST' | 'PATCH' | 'DELETE', string, object?]) {
  const { call, tokenId } = random.of(directories.slice(-4));
  return { answer: await call(...request), actor: `scim_token ${tokenId}` };
}

/** A step about somebody of the first Environment, where the directories are. */
const ofPerson =
  (step: (at: At, id: string) => Promise<Sent>): Step =>
  (at) => {
    const id = at.random.of(idsOf(at, at.places[0], 'identity'));
    return id === undefined ? undefined : step(at, id);
  };
const ofGroup =
  (step: (at: At, id: string) => Promise<Sent>): Step =>
  (at) => {
    const [key] = at.random.of(at.rows('scim_group')) ?? [];
    return key === undefined ? undefined : step(at, key.split(' ')[1] as string);
  };
const members = (at: At) =>
  idsOf(at, at.places[0], 'identity')
    .filter(() => at.random.below(3) === 0)
    .map((value) => ({ value }));

/** What directories do to people and groups, and what their groups give. */
export const directorySteps: Record<string, Step> = {
  scimDirectory: (at) => {
    const id = at.random.of(idsOf(at, at.places[0], 'organization'));
    if (id === undefined) return undefined;
    return newDirectory(at.places[0], id).then(async (directory) => {
      at.directories.push(directory);
      return { answer: await directory.call('GET', '/ServiceProviderConfig'), actor: 'platform_admin' };
    });
  },
  scimCreate: (at) =>
    scim(at, 'POST', '/Users', {
      userName: at.address(),
      externalId: at.maybe(`x${at.random.below(5)}`),
      name: at.maybe({ givenName: 'Zoe' }),
      active: at.maybe(at.oneOf(true, false)),
    }),
  scimChange: ofPerson((at, id) => {
    const changes = {
      active: at.oneOf(true, false),
      'name.familyName': at.oneOf('Berg', 'Kern'),
      externalId: `x${at.random.below(5)}`,
      userName: at.address(),
    };
    const [path, value] = at.random.of(Object.entries(changes));
    return scim(at, 'PATCH', `/Users/${id}`, operations({ op: 'replace', path, value }));
  }),
  scimRemove: ofPerson((at, id) => scim(at, 'DELETE', `/Users/${id}`)),
  scimGroup: (at) => scim(at, 'POST', '/Groups', { displayName: `G${at.random.below(4)}`, members: members(at) }),
  scimChangeGroup: ofGroup((at, id) => {
    const renamed = { op: 'replace', path: 'displayName', value: `G${at.random.below(4)}` };
    const filled = { op: at.oneOf('add', 'replace', 'remove'), path: 'members', value: members(at) };
    return scim(at, 'PATCH', `/Groups/${id}`, operations(at.oneOf<object>(renamed, filled)));
  }),
  scimRemoveGroup: ofGroup((at, id) => scim(at, 'DELETE', `/Groups/${id}`)),
  scimMap: (at) => {
    const [place] = at.places;
    const [key, group] = at.random.of(at.rows('scim_group')) ?? [];
    const role_id = at.random.of(idsOf(at, place, 'role'));
    if (!key || !group || !role_id) return undefined;
    const named = at.oneOf(key.split(' ')[1], group.display_name);
    const of = { environment_id: place.scope.environmentId, organization_id: group.organization_id ?? undefined };
    const payload = { ...of, scim_group: named, role_id, node_id: at.maybe(at.random.of(idsOf(at, place, 'node'))) };
    const url = `/portal/v1/accounts/${place.account.accountSlug}/scim/group-mappings`;
    const sent = at.api.app.inject({ method: 'POST', url, headers: place.headers.owner, payload });
    return sent.then((answer) => ({ answer, actor: `platform_admin ${place.account.userId}` }));
  },
};
