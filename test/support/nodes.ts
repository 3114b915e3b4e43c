import { v7 as uuidv7 } from 'uuid';
import { Role } from '../../entities/role.js';
import { RoleAssignment } from '../../entities/role-assignment.js';
import { outcomeOf } from './answers.js';
import type { TestAccount, TestApi } from './api.js';
import { newPublicClient, signedInAt } from './public-client.js';
import { rowsOf } from './rows.js';

export interface TestNode {
  id: string;
  slug: string;
  version: number;
  parent_node_id: string;
}

/** Returns calls of the Public API with one credential; `version` is sent as If-Match. */
export const callsWith =
  ({ app }: TestApi, headers: Record<string, string>, prefix = '/api/v1') =>
  (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, payload?: object, version?: number | string) =>
    app.inject({
      method,
      url: `${prefix}${path}`,
      headers: { ...headers, ...(version !== undefined && { 'if-match': String(version) }) },
      ...(payload && { payload }),
    });
export type Calls = ReturnType<typeof callsWith>;

/** Creates a node; returns it as the API answers. @throws Error if the API refuses it */
export async function newNode(call: Calls, name: string, parent: string | null, more: object = {}): Promise<TestNode> {
  const answer = await call('POST', '/nodes', { parent_node_id: parent, node_type: 'unit', name, ...more });
  if (answer.statusCode !== 201) throw new Error(`${outcomeOf(answer)} ${answer.body}`);
  return answer.json().data;
}

export const rootOf = async (call: Calls): Promise<TestNode> => (await call('GET', '/nodes/tree?depth=0')).json().data;

/** Creates a signed-in Identity of the Environment that holds system roles at nodes. */
export async function newIdentity(api: TestApi, account: TestAccount, held: [role: string, nodeId: string][] = []) {
  const names = { firstName: 'Ana', lastName: 'Berg' };
  const email = `ana.${uuidv7()}@example.com`;
  const { identity } = await api.services.identities.create(account.scope, {
    email,
    ...names,
    emailVerified: true,
    password,
  });
  const assignments: string[] = [];
  for (const [systemKey, nodeId] of held) assignments.push(await assign(api, account, identity.id, systemKey, nodeId));
  const headers = await signedInAt(api, await newPublicClient(api, account.scope), { email, password });
  return { id: identity.id, email, assignments, headers };
}

const password = 'correct horse battery staple';
export async function assign(
  { database: { db }, clock }: TestApi,
  { scope }: TestAccount,
  identityId: string,
  systemKey: string,
  nodeId: string,
): Promise<string> {
  const { accountId, environmentId } = scope;
  const id = uuidv7();
  await db.transaction(scope, async (tx) => {
    const role = await tx.findOneByOrFail(Role, { accountId, environmentId, systemKey });
    await tx.insert(RoleAssignment, {
      id,
      accountId,
      environmentId,
      identityId,
      roleId: role.id,
      nodeId,
      effectiveFrom: null,
      effectiveTo: null,
      removedAt: null,
      createdAt: clock.now,
    });
  });
  return id;
}

/** Returns the nodes whose path is not the way from the root to them; there must be none. */
export const wrongPaths = (api: TestApi, { scope }: TestAccount) =>
  rowsOf(
    api,
    `with recursive real as (
       select id, array[id] as path from nodes where environment_id = $1 and parent_node_id is null
       union all select n.id, real.path || n.id from nodes n join real on real.id = n.parent_node_id
         where not n.id = any(real.path))
     select n.id, n.path, real.path as real from nodes n left join real on real.id = n.id
     where n.environment_id = $1 and n.path is distinct from real.path`,
    [scope.environmentId],
  );

export const countersOf = async (api: TestApi, { scope }: TestAccount) =>
  Object.fromEntries(
    (
      await rowsOf<{ name: string; value: string }>(
        api,
        `select name, value from counters where environment_id = $1 and name in ('nodes', 'organizations')`,
        [scope.environmentId],
      )
    ).map(({ name, value }) => [name, Number(value)]),
  );
