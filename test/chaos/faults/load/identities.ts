import { newKey } from '../client.js';
import { type Actor, dataOf, isStatus, viaApi, type World } from '../world.js';

/** Creates and changes Identities; sometimes repeats a request with the same key, and must get the same answer. */
export function identities(world: World, lane: number): Actor {
  const { ledger, random } = world;
  let count = 0;
  return {
    name: `identities ${lane}`,
    everyMs: 400,
    isDurable: true,
    async step() {
      const n = ++count;
      const email = `person-${lane}-${n}@chaos.example`;
      const creation = {
        path: '/identities',
        json: { email, first_name: 'Before', metadata: { n } },
        idempotencyKey: newKey(),
      };
      const what = `create identity ${email}`;
      const made = dataOf<{ id: string }>(world, what, await viaApi(world, 'create identity', creation), 201);
      if (!made) return;
      ledger.note('identity', { id: made.id, email });
      if (random.next() < 0.2) {
        const again = dataOf<{ id: string }>(world, `${what} again`, await viaApi(world, 'same key', creation), 201);
        if (again && again.id !== made.id) world.find(`${what}: the same key made ${made.id} and ${again.id}`);
      }
      const firstName = `After ${n}`;
      const change = { method: 'PATCH', path: `/identities/${made.id}`, json: { first_name: firstName } } as const;
      const changed = await viaApi(world, 'change identity', change);
      if (isStatus(world, `change identity ${made.id}`, changed, 200)) {
        ledger.note('identity change', { id: made.id, firstName });
      }
    },
  };
}
