import type { Mapping } from './model.js';
import {
  expectOutcome,
  makeOrganization,
  makeRole,
  makeUnit,
  someDirectory,
  someNode,
  someRole,
  type World,
} from './world.js';

/** How administrators map groups to roles, and change the tree and the roles. */

const outside = (world: World, directory: string, node: string) =>
  world.model.isOrganization(directory) && !world.model.access.path(node).includes(directory);
const isTaken = ({ model }: World, wanted: Omit<Mapping, 'id'>, but?: Mapping) =>
  model.mappings.some(
    (one) =>
      one !== but &&
      one.directory === wanted.directory &&
      one.role === wanted.role &&
      one.node === wanted.node &&
      JSON.stringify(one.group).toLowerCase() === JSON.stringify(wanted.group).toLowerCase(),
  );

export async function map(world: World): Promise<void> {
  const { account, model, portal, random } = world;
  const directory = someDirectory(world);
  if (model.mappings.filter((one) => one.directory === directory).length > 5) return;
  const [id] = model.groupsOf(directory).map((one) => one.id);
  const group = id !== undefined && random.below(3) === 0 ? { id } : { name: random.of(['engineers', 'Sales']) };
  const inside = [...model.access.nodes.keys()].filter((one) => !outside(world, directory, one));
  const node = random.below(8) === 0 ? someNode(world) : random.of(inside);
  const wanted = { directory, group, role: someRole(world), node };
  const answer = await portal('POST', '/scim/group-mappings', {
    environment_id: account.scope.environmentId,
    organization_id: model.isOrganization(directory) ? directory : null,
    scim_group: 'id' in group ? group.id : group.name,
    role_id: wanted.role,
    node_id: node,
  });
  const refusal = outside(world, directory, node)
    ? '400 validation.failed'
    : isTaken(world, wanted) && '409 scim_group_mapping.exists';
  expectOutcome(answer, refusal || '201');
  if (!refusal) model.mappings.push({ id: answer.json().data.id, ...wanted });
}

export async function remap(world: World): Promise<void> {
  const { model, portal, random } = world;
  const mapping = random.of(model.mappings);
  if (!mapping) return;
  const [role, node] = [random.of([mapping.role, someRole(world)]), random.of([mapping.node, someNode(world)])];
  const answer = await portal('PATCH', `/scim/group-mappings/${mapping.id}`, { role_id: role, node_id: node });
  const refusal = outside(world, mapping.directory, node)
    ? '400 validation.failed'
    : isTaken(world, { ...mapping, role, node }, mapping) && '409 scim_group_mapping.exists';
  expectOutcome(answer, refusal || '200');
  if (!refusal) Object.assign(mapping, { role, node });
}

export async function unmap({ model, portal, random }: World): Promise<void> {
  const mapping = random.of(model.mappings);
  if (!mapping) return;
  expectOutcome(await portal('DELETE', `/scim/group-mappings/${mapping.id}`), '204');
  model.mappings = model.mappings.filter((one) => one !== mapping);
}

export async function makeNode(world: World): Promise<void> {
  if (world.model.access.nodes.size < 8) await makeUnit(world, someNode(world));
}

/** Deletes a node with everything below it; another organization takes the place of one. */
export async function removeNode(world: World): Promise<void> {
  const { key, model, random } = world;
  const { nodes, root } = model.access;
  const units = [...nodes.keys()].filter((id) => nodes.get(id)?.type === 'unit');
  const top = random.of(random.below(3) > 0 ? units : [...model.members.keys()]);
  if (!top || top === root) return;
  const answer = await key('DELETE', `/nodes/${top}?cascade=true`, undefined, nodes.get(top)?.version);
  expectOutcome(answer, '204');
  const before = model.members.size;
  model.removeNode(top);
  for (let i = model.members.size; i < before; i++)
    await makeOrganization(world, random.of([root, ...model.members.keys()]));
}

export async function moveNode(world: World): Promise<void> {
  const { key, model } = world;
  const [id, parent] = [someNode(world), someNode(world)];
  const node = model.access.nodes.get(id);
  if (!node || node.parent === parent) return;
  const answer = await key('POST', `/nodes/${id}/move`, { parent_node_id: parent }, node.version);
  const refusal =
    node.type === 'root'
      ? 'root_fixed'
      : model.access.isAtOrBelow(parent, id)
        ? 'would_cycle'
        : !model.access.mayStandUnder(node.type, parent) && 'type_not_allowed';
  expectOutcome(answer, refusal ? `400 nodes.${refusal}` : '200');
  if (!refusal) model.moveNode(id, parent);
}

/** Deletes a role that nobody holds and no group is mapped to; another one takes its place. */
export async function removeRole(world: World): Promise<void> {
  const { key, model } = world;
  const id = someRole(world);
  const { keys, version } = model.access.roles.get(id)!;
  const isHeld = [...model.held().values()].some(({ role }) => role === id);
  const isUsed = isHeld || model.mappings.some(({ role }) => role === id);
  expectOutcome(await key('DELETE', `/roles/${id}`, undefined, version), isUsed ? '409 role.in_use' : '204');
  if (isUsed) return;
  model.access.roles.delete(id);
  await makeRole(world, [...keys][0] as string);
}
