import type { Declared } from '../operations/declared.js';
import { exampleOf, newUnique } from '../operations/example.js';
import { examples } from '../operations/examples-account.js';
import { type Kind, kinds } from '../operations/kinds.js';
import type { Place } from '../operations/place.js';
import type { Sent } from '../operations/sent.js';
import type { Place as Part } from './model.js';

/** Inputs of all operations, which name what was created for them in one Environment. */

/** The node that an audit row is about, or else where it happened. */
export interface AboutRow {
  node: string | null;
  about: Part;
}

/** Returns an input for each operation of the Portal, with ids of what is created for all of them. */
export async function inputsOf(place: Place, operations: Declared[]): Promise<Map<string, Sent>> {
  const ids = new Map<Kind, string>();
  const inputs = new Map<string, Sent>();
  for (const declared of operations.filter(({ surface }) => surface === 'portal' || surface === 'public')) {
    const id = async (kind: Kind) => {
      if (!ids.has(kind)) ids.set(kind, await kinds[kind].make(place));
      return ids.get(kind)!;
    };
    inputs.set(declared.name, await exampleOf(examples, declared)({ place, unique: newUnique(), id }));
  }
  return inputs;
}

/** Returns what the audit rows are about that the inputs name. */
export async function rowsIn(place: Place, inputs: Map<string, Sent>): Promise<Map<string, AboutRow>> {
  const found = new Map<string, AboutRow>();
  for (const [name, example] of Object.entries({
    portalGetAuditLog: 'getAuditLog',
    portalGetAuditRow: 'getAuditRow',
    portalGetIdentityAuditRow: 'getIdentityAuditRow',
  })) {
    const [row] = await place.rows<{ type: string; id: string; application: string; environment: string }>(
      `select resource_type as type, resource_id as id, application_id as application, environment_id as environment
       from events where id = $1`,
      [inputs.get(name)?.path?.id],
    );
    const { type, id, application, environment } = row!;
    found.set(example, { node: type === 'node' ? id : null, about: { application, environment } });
  }
  return found;
}

/** Moves most of what is in the tree below two new organizations. */
export async function spread(place: Place): Promise<void> {
  const [north, south] = [
    await place.make('/organizations', { name: 'North' }),
    await place.make('/organizations', { name: 'South' }),
  ];
  const nodes = await place.rows<{ id: string }>(
    `select n.id from nodes n join nodes root on root.id = n.parent_node_id and root.parent_node_id is null
     where n.environment_id = $1 and n.id <> all($2) order by n.id`,
    [place.scope.environmentId, [north.id, south.id]],
  );
  for (const [i, { id }] of nodes.entries()) {
    const parent = [north, south, null][i % 3];
    if (!parent) continue;
    const sent = { path: { id }, version: { table: 'nodes', id }, body: { parent_node_id: parent.id } };
    const answer = await place.call({ method: 'POST', url: '/api/v1/nodes/{id}/move' }, sent, 'key');
    if (answer.statusCode !== 200) throw new Error(answer.body);
  }
}
