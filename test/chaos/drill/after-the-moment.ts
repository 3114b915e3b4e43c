import { newKey } from '../faults/client.js';
import { dataOf, isGone, isStatus, viaApi, type World } from '../faults/world.js';

export type Later = Awaited<ReturnType<typeof doLater>>;

/** Makes changes that are acknowledged after the moment to restore, and have to be lost with the restore. */
export async function doLater(world: World) {
  const { client, ledger, seed } = world;
  const login = await client.decided('admin sign in', { path: '/v1/auth/login', json: seed.admin });
  const adminToken = dataOf<{ access_token: string }>(world, 'a later sign-in', login, 200)?.access_token;
  const json = { email: `later-${newKey()}@chaos.example` };
  const identity = await viaApi(world, 'create identity', { path: '/identities', json });
  const identityId = dataOf<{ id: string }>(world, 'a later identity', identity, 201)?.id;
  const form = { grant_type: 'refresh_token', client_id: seed.publicClient, refresh_token: firstLogin(world) };
  const refreshed = await client.decided('refresh', { path: '/oauth/token', form });
  const successor = isStatus(world, 'a later refresh', refreshed, 200)
    ? (JSON.parse(refreshed.body) as { access_token: string; refresh_token: string })
    : undefined;
  const deleted = new Set(ledger.of('API key deletion').map(({ id }) => id));
  const key = ledger.of('API key').find(({ id }) => !deleted.has(id));
  if (key) {
    const gone = await viaApi(world, 'delete API key', { method: 'DELETE', path: `/api-keys/${key.id}` });
    isGone(world, 'a later deletion', gone);
  } else world.find('there is no API key to delete');
  return { adminToken, identityId, successor };
}

/** Returns the first sign-in's refresh token, which was never used. */
const firstLogin = ({ ledger }: World): string => ledger.of('login')[0]?.refreshToken ?? '';

/**
 * Checks that what was issued after the moment is invalid now. What was revoked after it is valid again: the ledger
 * says that the token that was refreshed and the key that was deleted work.
 */
export async function laterIsGone(world: World, { adminToken, identityId, successor }: Later): Promise<void> {
  const { client, seed } = world;
  const bearer = (token: string | undefined) => ({ authorization: `Bearer ${token}` });
  const expected: [what: string, status: number | undefined, wanted: number][] = [
    [
      'a later sign-in',
      (await client.decided('who am I', { path: '/v1/auth/me', headers: bearer(adminToken) }))?.status,
      401,
    ],
    [
      'an access token that was refreshed later, of a sign-in from before,',
      (await client.decided('userinfo', { path: '/oauth/userinfo', headers: bearer(successor?.access_token) }))?.status,
      200,
    ],
    ['a later identity', (await viaApi(world, 'read identity', { path: `/identities/${identityId}` }))?.status, 404],
    [
      'a later refresh token',
      (
        await client.decided('refresh', {
          path: '/oauth/token',
          form: {
            grant_type: 'refresh_token',
            client_id: seed.publicClient,
            refresh_token: successor?.refresh_token ?? '',
          },
        })
      )?.status,
      400,
    ],
  ];
  for (const [what, status, wanted] of expected) {
    if (status !== wanted) world.find(`${what} is answered ${status} instead of ${wanted} after the restore`);
  }
}
