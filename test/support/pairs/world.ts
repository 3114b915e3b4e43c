import { decodeJwt } from 'jose';
import { newMember, tokenOf } from '../administrators.js';
import { send, type TestApi } from '../api.js';
import { bearer, type LoginResult } from '../identity-auth.js';
import { linkTokenOf } from '../identity-invites.js';
import { type Kind, kinds } from '../operations/kinds.js';
import { newPlaces, type Place } from '../operations/place.js';
import { newGroup, newToken, newUser, scimOf } from '../scim.js';
import { createCasts } from './casts.js';
import { newSnapshot } from './snapshots.js';

/**
 * An Account in which everything has to do with everything else: an organization with members, nodes, roles, invites and
 * directories, and what examples of operations find in it.
 */
export async function newWorld(api: TestApi) {
  const place = (await newPlaces(api)).development;
  const ana = await signedIn(api, place);
  const structure = await newStructure(place);
  const { acme, ward, roles, organizations, nodes } = structure;
  const directories = await newDirectories(place, structure);
  const { ben, cleo } = directories;
  for (const identity_id of [ana.id, ben.id]) {
    await place.make(`/organizations/${acme}/members`, { identity_id, role_ids: [roles[0]] });
    await place.make(`/identities/${identity_id}/role-assignments`, { role_id: roles[0], node_id: ward });
  }
  const administrators = await newAdministrators(place, ward);
  const invite = await place.make('/identity-invites', { email: 'fay@example.com', role_id: roles[0], node_id: ward });
  const guest = { email: 'gil@example.com', role_ids: [roles[0]] };
  const invitation = await place.make(`/organizations/${acme}/invitations`, guest);

  const pools = {
    identity: [ana.id, ben.id, cleo.id, await kinds.identity.make(place)],
    organization: organizations,
    node: [...nodes, acme],
    role: roles,
    administratorRole: administrators.roles,
    member: administrators.members,
  };
  const things = new Map<string, string>([
    ['environment', place.scope.environmentId],
    ['identityInvite', invite.id],
    [`organizationInvitation ${acme}`, invitation.id],
    ['administratorInvite', administrators.invite.id],
    ['scimToken', directories.tokenId],
    ['scimGroupMapping', directories.mapping.id],
    ['ownSession', ana.sessionId],
  ]);
  const snapshot = await newSnapshot(api.database.ownerUrl);
  await snapshot.take();
  return {
    place,
    snapshot,
    ana,
    owners: [place.headers.owner, administrators.partner.headers],
    scim: directories.all,
    tokens: {
      identityInvite: linkTokenOf(invite.id),
      organizationInvitation: linkTokenOf(invitation.id),
      administratorInvite: tokenOf(administrators.invite.id),
    },
    cast: createCasts(place, pools, things),
  };
}
export type World = Awaited<ReturnType<typeof newWorld>>;

/** Signs the place's end user in once more: that session may end without the one with which they ask. */
async function signedIn(api: TestApi, { identity }: Place) {
  const { clientId: client_id, email, password } = identity;
  const payload = { client_id, email, password };
  const answer = await send(api.app, 200, { method: 'POST', url: '/v1/identity/auth/login', payload });
  const { access_token, refresh_token } = answer.json().data as LoginResult;
  const sessionId = String(decodeJwt(access_token).sid);
  return { ...identity, refreshToken: refresh_token, headers: bearer(access_token), sessionId };
}

const several = async (place: Place, ...all: Kind[]): Promise<string[]> => {
  const ids: string[] = [];
  for (const kind of all) ids.push(await kinds[kind].make(place));
  return ids;
};

async function newStructure(place: Place) {
  const roles = await several(place, 'role', 'role');
  const organizations = await several(place, 'organization', 'connectedOrganization', 'activelyConnectedOrganization');
  const [acme] = organizations as [string];
  const nodeBelow = async (name: string, parent_node_id: string) =>
    (await place.make('/nodes', { node_type: 'unit', name, parent_node_id })).id;
  const ward = await nodeBelow('Ward', acme);
  const nodes = [ward, await nodeBelow('Room', ward), ...(await several(place, 'node'))];
  return { roles, organizations, acme, ward, nodes };
}

/** Calls an Account-level operation as the owner. */
async function inAccount({ api, account, headers }: Place, path: string, payload: object): Promise<{ id: string }> {
  const url = `/portal/v1/accounts/${account.accountSlug}${path}`;
  return (await send(api.app, 201, { method: 'POST', url, headers: headers.owner, payload })).json().data;
}

/** The directories of the Environment and of an organization, each with a person in a group that gives a role. */
async function newDirectories(place: Place, { acme, ward, roles }: Awaited<ReturnType<typeof newStructure>>) {
  const { api, account } = place;
  const [token, itsToken] = [await newToken(api, account), await newToken(api, account, acme)];
  const [directory, itsDirectory] = [scimOf(api, token.token), scimOf(api, itsToken.token)];
  const [ben, cleo] = [await newUser(directory), await newUser(itsDirectory)];
  const groups = [await newGroup(directory, 'Staff', ben.id), await newGroup(itsDirectory, 'Staff', cleo.id)] as const;
  const mapped = { environment_id: place.scope.environmentId, scim_group: 'Staff', role_id: roles[0] };
  const mapping = await inAccount(place, '/scim/group-mappings', { ...mapped, node_id: ward });
  await inAccount(place, '/scim/group-mappings', { ...mapped, organization_id: acme, node_id: acme });
  const all = [
    { by: 'the directory', token: token.token, user: ben, group: groups[0] },
    { by: "the organization's directory", token: itsToken.token, user: cleo, group: groups[1] },
  ];
  return { ben, cleo, mapping, tokenId: token.id, all };
}

/** A second Owner, a member with a limited role, and an invite that offers it. */
async function newAdministrators(place: Place, node: string) {
  const { api, account, scope } = place;
  const roles = await several(place, 'administratorRole', 'administratorRole');
  const [roleId] = roles as [string];
  const limits = { node_ids: [node], environment_ids: [scope.environmentId] };
  const mia = await newMember(api, account, { roleId }, undefined, limits);
  const partner = await newMember(api, account, 'owner');
  const invited = { email: 'ivo@example.com', first_name: 'Ivo', last_name: 'Kern', role_id: roleId, limits };
  const invite = await inAccount(place, '/administrator-invites', invited);
  return { roles, members: [mia.membershipId, partner.membershipId], partner, invite };
}
