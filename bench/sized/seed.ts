import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { renewWaymarks, waymarkRules } from '../../src/domain/identities/waymarks.js';
import type { Installation } from '../installation.js';
import { type Seed, seed as seedBase } from '../seed.js';
import { insertAll } from './insert-all.js';
import { createModel, type Model, permissions, type RoleName, roles } from './model.js';
import { seedLists } from './seed-lists.js';
import type { Size } from './sizes.js';

/** An Environment of a size: its contents, and the model that knows the right answers. */
export interface SizedSeed extends Seed {
  size: Size;
  model: Model;
  /** The ids by number in the model. */
  memberIds: readonly string[];
  nodeIds: readonly string[];
  /**
   * A webhook with as many deliveries as there are people; null if the people existed already: then no lists are made.
   */
  webhookId: string | null;
  /** The top of the subtree that is moved, and the two parents between which it is moved. */
  moved: { id: string; parentIds: readonly [string, string] };
}

export const emailOf = (identity: number): string => `u${String(identity).padStart(6, '0')}@people.example`;

/**
 * Fills an empty installation by SQL as the owner: the service's own rules would take minutes for ten thousand nodes.
 * @returns after a vacuum, so the planner knows the sizes, and the trigram index has its pending entries merged
 */
export const seedSized = async (installation: Installation, size: Size): Promise<SizedSeed> =>
  fillSized(installation, await seedBase(installation.databaseUrl), size);

/** Existing people, by number in the model, and which of them should be inactive. */
export interface People {
  memberIds: readonly string[];
  isInactive(number: number, size: Size): boolean;
}

/** Fills an Environment that already has the base data, and perhaps its people. */
export async function fillSized(
  { ownerUrl }: Installation,
  base: Seed,
  size: Size,
  people?: People,
): Promise<SizedSeed> {
  const model = createModel(size);
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    await owner.query('begin');
    const rows = { owner, scope: base.scope, size, model };
    const memberIds = people ? await deactivate(rows, people) : await seedIdentities(rows);
    const { nodeIds, moved } = await seedNodes(rows);
    await seedAssignments(rows, memberIds, nodeIds);
    const webhookId = people ? null : await seedLists(owner, base.scope, size);
    await owner.query('commit');
    await setWaymarks(owner);
    await owner.query('vacuum (analyze)');
    return { ...base, size, model, memberIds, nodeIds, moved, webhookId };
  } finally {
    await owner.end();
  }
}

/** Sets the waymarks of the only large Environment, like housekeeping once its people have been there for a while. */
async function setWaymarks(owner: pg.Client): Promise<void> {
  const statement = async <Row>({ text }: { text: string }, values: readonly unknown[]) =>
    (await owner.query(text, [...values])).rows as Row[];
  await renewWaymarks({ statement }, null, { ...waymarkRules, settledMs: 0 });
}

interface Rows {
  owner: pg.Client;
  scope: Seed['scope'];
  size: Size;
  model: Model;
}

const uuids = (count: number) => Array.from({ length: count }, () => uuidv7());
/** Returns times a second apart, the last one now, so that lists by age have a clear order. */
const agesOf = (count: number) => {
  const end = Date.now();
  return (i: number) => new Date(end - (count - i) * 1000);
};

const givenNames = ['Ana', 'Ben', 'Chloé', 'Dilan', 'Emre', 'Fatima', 'Göran', 'Hana', 'Ivo', 'Jun'];
const familyNames = [
  'Arendt',
  'Bauer',
  'Costa',
  'Demir',
  'Eriksen',
  'Fischer',
  'Garcia',
  'Haddad',
  'Ito',
  'Jansen',
  'Kaya',
];

/** Returns the address and the names of a person by number. */
export const profileOf = (i: number) => ({
  email: emailOf(i),
  first_name: givenNames[i % givenNames.length] as string,
  last_name: familyNames[i % familyNames.length] as string,
});

async function deactivate({ owner, scope, size }: Rows, { memberIds, isInactive }: People): Promise<readonly string[]> {
  await owner.query(
    'update environment_memberships set is_active = false where environment_id = $1 and identity_id = any($2)',
    [scope.environmentId, memberIds.filter((_, number) => isInactive(number, size))],
  );
  return memberIds;
}

async function seedIdentities({ owner, scope: { accountId, environmentId }, size }: Rows): Promise<string[]> {
  const ids = uuids(size.identities);
  const ageOf = agesOf(ids.length);
  const profiles = ids.map((id, i) => ({
    id,
    account_id: accountId,
    ...profileOf(i),
    metadata: {},
    email_verified_at: ageOf(i),
    created_at: ageOf(i),
    updated_at: ageOf(i),
  }));
  const memberships = ids.map((identityId, i) => ({
    id: uuidv7(),
    account_id: accountId,
    environment_id: environmentId,
    identity_id: identityId,
    is_active: true,
    created_at: ageOf(i),
  }));
  await insertAll(owner, 'identities', profiles);
  await insertAll(owner, 'environment_memberships', memberships);
  await count(owner, environmentId, 'identities', ids.length);
  return ids;
}

async function seedNodes({ owner, scope, size, model: { parents } }: Rows) {
  const { environmentId } = scope;
  const { rows: found } = await owner.query<{ id: string }>(
    'select id from nodes where environment_id = $1 and parent_node_id is null',
    [environmentId],
  );
  const nodeIds = [(found[0] as { id: string }).id, ...uuids(parents.length - 1)];
  const paths: string[][] = [];
  for (const [i, parent] of parents.entries()) paths.push([...(paths[parent] ?? []), nodeIds[i] as string]);
  // Each has ten nodes below it: a thousand are four levels, which fit below every node of the tree.
  const movedIds = uuids(size.moved);
  const parentIds = [nodeIds[1], nodeIds[2]] as [string, string];
  const movedPaths: string[][] = [];
  for (const [i, id] of movedIds.entries()) {
    movedPaths.push([...(movedPaths[Math.floor((i - 1) / 10)] ?? (paths[1] as string[])), id]);
  }
  const added = [...paths.slice(1), ...movedPaths];
  const ageOf = agesOf(added.length);
  const rows = added.map((path, i) => ({
    id: path.at(-1),
    account_id: scope.accountId,
    application_id: scope.applicationId,
    environment_id: environmentId,
    parent_node_id: path.at(-2),
    node_type: 'unit',
    name: `Unit ${i + 1}`,
    slug: `unit-${i + 1}`,
    status: 'active',
    metadata: {},
    path,
    version: 1,
    created_at: ageOf(i),
    updated_at: ageOf(i),
  }));
  await insertAll(owner, 'nodes', rows);
  await count(owner, environmentId, 'nodes', rows.length);
  return { nodeIds, moved: { id: movedIds[0] as string, parentIds } };
}

async function seedAssignments(
  { owner, scope, model }: Rows,
  memberIds: readonly string[],
  nodeIds: readonly string[],
): Promise<void> {
  const { accountId, environmentId } = scope;
  const at = new Date();
  const ofEnvironment = {
    account_id: accountId,
    application_id: scope.applicationId,
    environment_id: environmentId,
    version: 1,
    created_at: at,
  };
  const permissionRows = permissions.map((key) => ({
    ...ofEnvironment,
    id: uuidv7(),
    key,
    name: key,
    category: 'documents',
    source: 'custom',
  }));
  const roleRows = Object.keys(roles).map((name) => ({
    ...ofEnvironment,
    id: uuidv7(),
    name,
    is_active: true,
    updated_at: at,
  }));
  const held = roleRows.flatMap(({ id, name }) =>
    permissionRows
      .filter(({ key }) => (roles[name as RoleName] as readonly string[]).includes(key))
      .map((permission) => ({
        role_id: id,
        permission_id: permission.id,
        account_id: accountId,
        environment_id: environmentId,
      })),
  );
  const roleIds = new Map(roleRows.map(({ id, name }) => [name, id]));
  const ageOf = agesOf(model.assignments.length);
  const assignments = model.assignments.map(({ identity, role, node }, i) => ({
    id: uuidv7(),
    account_id: accountId,
    environment_id: environmentId,
    identity_id: memberIds[identity],
    role_id: roleIds.get(role),
    node_id: nodeIds[node],
    created_at: ageOf(i),
  }));
  await insertAll(owner, 'permissions', permissionRows);
  await insertAll(owner, 'roles', roleRows);
  await insertAll(owner, 'role_permissions', held);
  await insertAll(owner, 'role_assignments', assignments);
}

const count = (owner: pg.Client, environmentId: string, name: string, added: number) =>
  owner.query(
    `insert into counters (environment_id, name, account_id, value)
     select id, $2, account_id, $3 from environments where id = $1
     on conflict (environment_id, name) do update set value = counters.value + excluded.value`,
    [environmentId, name, added],
  );
