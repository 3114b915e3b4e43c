import { outcomeOf } from '../../support/answers.js';
import { startApi, type TestApi } from '../../support/api.js';
import { inviteTo, newAddress } from '../../support/identity-invites.js';
import { counted, interleaved } from '../../support/interleaving.js';
import { kinds } from '../../support/operations/kinds.js';
import { newPlaces, type Place } from '../../support/operations/place.js';

/**
 * While one caller changes a person, the person gains permissions: then only callers with those may change the person.
 */

let api: TestApi;
let places: Record<'development' | 'production', Place>;
beforeAll(async () => {
  api = await startApi();
  places = await newPlaces(api);
  await kinds.oauthClient.make(places.development); // for a link to lead to
});
afterAll(() => api.stop());

interface Changing {
  method: 'POST' | 'PUT' | 'PATCH';
  path: string;
  body?: () => object;
  key?: Record<string, string>;
}
interface Inviting {
  place: Place;
  path?: string;
  /** What they get once they are in: an invite that offered it would count from the start. */
  given?: { role_id: string };
}
interface Changed {
  id: string;
  change(): Promise<string>;
  accept(): Promise<string>;
}

/**
 * Creates a person whose data comes from a key for tests, until they follow the link that was mailed to them.
 */
async function somebody(
  { method, path, body, key = places.development.headers.key }: Changing,
  { place, path: asked = '/identity-invites', given }: Inviting,
): Promise<Changed> {
  const { development } = places;
  const { id, email } = await development.make('/identities', { email: newAddress() });
  const { token } = await inviteTo(
    (verb, url, payload) =>
      api.app.inject({
        method: verb,
        url: `/api/v1${url}`,
        headers: place.headers.key,
        ...(payload && { payload }),
      }),
    asked,
    { email },
  );
  const sent = { method, url: `/api/v1/identities/${id}${path}`, headers: key };
  return {
    id,
    change: async () => outcomeOf(await api.app.inject({ ...sent, ...(body && { payload: body() }) })),
    async accept() {
      const accepted = await api.app.inject({
        method: 'POST',
        url: '/v1/identity/auth/accept-invite',
        payload: { token, password: 'amber kettle 83' },
      });
      if (given) await development.make(`/identities/${id}/role-assignments`, given);
      return outcomeOf(accepted);
    },
  };
}

/**
 * Stops the change before each of its statements while the invite is accepted, and a role assigned. On a slow machine it
 * goes on before they are, and may then still come between the two. @returns the change's outcomes
 */
async function acceptedMeanwhile(...of: Parameters<typeof somebody>): Promise<string[]> {
  const alone = await somebody(...of);
  const { statements } = await counted(alone.change);
  const came = new Set<string>();
  for (let at = 1; at <= statements; at++) {
    const { id, change, accept } = await somebody(...of);
    const [changed, accepted] = await interleaved(api.database.ownerUrl, at, change, accept);
    came.add(changed);
    const since = await places.development.rows(
      `select action from events where resource_id = $1 and actor_type = 'api_key' and environment_id = $2 and action not like '%.access_denied'
         and created_at > (select max(created_at) from events where metadata->>'identity_id' = $1
           and action in ('identity_invite.accepted', 'organization.invitation_accepted', 'role_assignment.created'))`,
      [id, places.development.scope.environmentId],
    );
    expect([at, accepted, since]).toEqual([at, '200', []]);
  }
  return [...came].sort();
}

const password: Changing = { method: 'PUT', path: '/password', body: () => ({ password: 'violet tractor 19' }) };

test.each<[string, Changing]>([
  ['password', password],
  ['address', { method: 'PATCH', path: '', body: () => ({ email: newAddress() }) }],
  ['forced reset', { method: 'POST', path: '/password/reset', body: () => ({}) }],
  ['factors', { method: 'POST', path: '/mfa/reset' }],
  ['limits on guesses', { method: 'POST', path: '/unlock' }],
])('a test environment cannot change a person who joins production meanwhile: %s', async (_, changing) => {
  const came = await acceptedMeanwhile(changing, { place: places.production });
  expect(came).toEqual(['200', '403 identity.in_production']);
});

test('a person who gains permissions meanwhile gets no password from a key with fewer', async () => {
  const { development } = places;
  const { id: organizationId } = await development.make('/organizations', { name: 'Ward' });
  const role = await development.make('/roles', { name: 'Steward', permission_keys: ['rbac.manage_roles'] });
  const key = await development.account.apiKey(['identity.manage']);
  const inviting = {
    place: development,
    path: `/organizations/${organizationId}/invitations`,
    given: { role_id: role.id },
  };
  const came = await acceptedMeanwhile({ ...password, key }, inviting);
  expect(came).toEqual(['200', '403 identity.holds_more']);
});
