import { randomBytes, randomUUID } from 'node:crypto';
import { Node } from '../../entities/node.js';
import { Role } from '../../entities/role.js';
import type { RoleAssignment } from '../../entities/role-assignment.js';
import { writeAssignments } from '../../src/domain/access/assignments/assigning.js';
import { provisionAccount } from '../../src/domain/accounts/provisioning.js';
import type { EnvironmentScope } from '../../src/platform/scope.js';
import type { TestDatabase } from './database.js';
import { rowsAsOwner } from './database.js';

/** Creates an Environment with one Identity and a node. */
export async function aHolder({ db, ownerUrl }: Pick<TestDatabase, 'db' | 'ownerUrl'>) {
  const [userId, identityId, nodeId] = [randomUUID(), randomUUID(), randomUUID()];
  const email = `rosalind.${identityId}@private.example`;
  await rowsAsOwner(
    ownerUrl,
    `insert into users (id, email, first_name, last_name, created_at, updated_at) values ($1, $2, 'O', 'Wner', now(), now())`,
    [userId, `${userId}@example.com`],
  );
  const names = { accountName: `Northwind ${randomBytes(4).toString('hex')}`, applicationName: 'Shop' };
  return db.transaction('system', async (tx) => {
    const { account, application, environments } = await provisionAccount(tx, { userId, ...names, now: new Date() });
    const { id: environmentId } = environments.development;
    const scope: EnvironmentScope = { accountId: account.id, applicationId: application.id, environmentId };
    await tx.query(
      `insert into identities (id, account_id, email, first_name, metadata, created_at, updated_at)
       values ($1, $2, $3, 'Rosalind', '{}', now(), now())`,
      [identityId, account.id, email],
    );
    await tx.query(
      `insert into environment_memberships (id, account_id, environment_id, identity_id, is_active, created_at)
       values ($1, $2, $3, $4, true, now())`,
      [randomUUID(), account.id, environmentId, identityId],
    );
    const root = await tx.findOneByOrFail(Node, { environmentId, nodeType: 'root' });
    const node = { ...root, id: nodeId, parentNodeId: root.id, nodeType: 'unit', name: 'A unit', slug: 'a-unit' };
    await tx.insert(Node, { ...node, path: [...root.path, nodeId] });
    const role = await tx.findOneByOrFail(Role, { environmentId, systemKey: 'viewer' });
    return { scope, identityId, email, nodeId, roleId: role.id };
  });
}
export type TestHolder = Awaited<ReturnType<typeof aHolder>>;

/** Assigns the role to the holder at the node, as the API does: with event, row and outbox message. */
export async function assignWindow(
  { db }: Pick<TestDatabase, 'db'>,
  { scope, identityId, nodeId, roleId }: TestHolder,
  { from, to, notify = false }: { from?: Date; to?: Date; notify?: boolean },
): Promise<RoleAssignment> {
  const window = { effectiveFrom: from ?? null, effectiveTo: to ?? null };
  const wanted = { identityId, roleId, nodeId, ...window, notifyHolder: notify };
  const [result] = await db.transaction(scope, (tx) => writeAssignments(tx, scope, [wanted], new Date()));
  if (result?.status !== 'created') throw new Error(`the assignment was not made: ${JSON.stringify(result)}`);
  return result.assignment;
}
