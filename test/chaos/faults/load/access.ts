import { type Actor, dataOf, isGone, isStatus, viaApi, type World } from '../world.js';

/** Creates roles, assigns them to an Identity, and removes half of the assignments. */
export function roles(world: World): Actor {
  const { ledger, random } = world;
  let count = 0;
  let holder: string | undefined;
  return {
    name: 'roles',
    everyMs: 300,
    isDurable: true,
    async step() {
      const name = `Role ${++count}`;
      const json = { name, permission_keys: ['identity.view'] };
      const role = dataOf<{ id: string }>(
        world,
        `create ${name}`,
        await viaApi(world, 'create role', { path: '/roles', json }),
        201,
      );
      if (!role) return;
      ledger.note('role', { id: role.id, name });
      holder = world.ledger.of('identity').at(-1)?.id ?? holder;
      if (holder === undefined) return;
      const path = `/identities/${holder}/role-assignments`;
      const assigned = await viaApi(world, 'assign role', { path, json: { role_id: role.id } });
      // 200 if an earlier attempt of this request has assigned it.
      if (assigned?.status !== 200 && !isStatus(world, `assign ${name}`, assigned, 201)) return;
      const { assignment_id: id } = (JSON.parse(assigned.body) as { data: { assignment_id: string } }).data;
      ledger.note('assignment', { id, identityId: holder });
      if (random.next() < 0.5) return;
      const removed = await viaApi(world, 'unassign role', { method: 'DELETE', path: `${path}/${id}` });
      if (isGone(world, `unassign ${name}`, removed)) ledger.note('assignment removal', { id, identityId: holder });
    },
  };
}

/** Creates API keys, each of which must work from then on, and deletes half of them. */
export function apiKeys(world: World): Actor {
  const { ledger, random } = world;
  let count = 0;
  return {
    name: 'API keys',
    everyMs: 400,
    isDurable: true,
    async step() {
      const name = `Key ${++count}`;
      const creation = { path: '/api-keys', json: { name, access_mode: 'full' } };
      const made = await viaApi(world, 'create API key', creation);
      const key = dataOf<{ id: string; secret: string }>(world, `create ${name}`, made, 201);
      if (!key) return;
      const { id, secret } = key;
      ledger.note('API key', { id, name, secret });
      if (random.next() < 0.5) return;
      const deleted = await viaApi(world, 'delete API key', { method: 'DELETE', path: `/api-keys/${id}` });
      if (isGone(world, `delete ${name}`, deleted)) ledger.note('API key deletion', { id, secret });
    },
  };
}
