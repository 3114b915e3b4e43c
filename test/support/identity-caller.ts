import { v7 as uuidv7 } from 'uuid';
import { Node } from '../../entities/node.js';
import { Role } from '../../entities/role.js';
import { RoleAssignment } from '../../entities/role-assignment.js';
import type { TestAccount, TestApi } from './api.js';
import { newPublicClient, signedInAt } from './public-client.js';

export interface IdentityCaller {
  id: string;
  email: string;
  password: string;
  clientId: string;
  /** Its `Authorization` header. */
  headers: Record<string, string>;
}

const password = 'a passphrase for an identity';

/**
 * Creates a signed-in end user of an Environment who holds roles at nodes (at the root if none is named).
 * @param email the address of a person who is in the Account's directory already, to be that person
 */
export async function newIdentityCaller(
  api: TestApi,
  { scope }: Pick<TestAccount, 'scope'>,
  held: { role: string; nodeId?: string }[] = [],
  email = `${uuidv7()}@example.com`,
): Promise<IdentityCaller> {
  const { identity } = await api.services.identities.create(scope, {
    email,
    firstName: 'Ida',
    lastName: 'Caller',
    emailVerified: true,
    password,
  });
  await holdRoles(api, scope, identity.id, held);
  const client = await newPublicClient(api, scope);
  return {
    id: identity.id,
    email,
    password,
    clientId: client.clientId,
    headers: await signedInAt(api, client, { email, password }),
  };
}

/** Assigns roles by name at nodes. */
export async function holdRoles(
  { database: { db }, clock }: TestApi,
  { accountId, environmentId }: TestAccount['scope'],
  identityId: string,
  held: { role: string; nodeId?: string }[],
): Promise<void> {
  await db.transaction({ accountId, environmentId }, async (tx) => {
    const root = await tx.findOneByOrFail(Node, { environmentId, nodeType: 'root' });
    for (const { role: name, nodeId = root.id } of held) {
      const role = (await tx.findBy(Role, { environmentId })).find((one) => one.name === name);
      if (!role) throw new Error(`no role ${name}`);
      await tx.insert(RoleAssignment, {
        id: uuidv7(),
        accountId,
        environmentId,
        identityId,
        roleId: role.id,
        nodeId,
        effectiveFrom: null,
        effectiveTo: null,
        createdAt: clock.now,
        removedAt: null,
      });
    }
  });
}
