import { v7 as uuidv7 } from 'uuid';
import { outcomeOf } from './answers.js';
import type { TestAccount, TestApi } from './api.js';
import type { Calls } from './nodes.js';
import { rowsOf } from './rows.js';

/** Creates an Identity of the Environment that cannot sign in; returns its id. */
export async function newPerson({ services }: TestApi, { scope }: Pick<TestAccount, 'scope'>, email?: string) {
  const { identity } = await services.identities.create(scope, {
    email: email ?? `ben.${uuidv7()}@example.com`,
    firstName: 'Ben',
    lastName: 'Adler',
    emailVerified: true,
    password: null,
  });
  return identity.id;
}

/** Creates a role of the Environment with these permissions; returns its id. */
export async function newRole(call: Calls, name: string, permissionKeys: string[]): Promise<string> {
  const answer = await call('POST', '/roles', { name, permission_keys: permissionKeys });
  if (answer.statusCode !== 201) throw new Error(`${outcomeOf(answer)} ${answer.body}`);
  return answer.json().data.id;
}

/** Returns an organization's members as its rows and as its counter have them. */
export async function membersOf(api: TestApi, organizationId: string) {
  const [found] = await rowsOf<{ members: string[]; count: number }>(
    api,
    `select member_count as count, array(select identity_id::text from organization_members where organization_id = $1
       order by 1) as members from organizations where id = $1`,
    [organizationId],
  );
  return found as { members: string[]; count: number };
}

/** Returns the ids of the roles that an Identity holds at a node. */
export const rolesHeld = async (api: TestApi, identityId: string, nodeId: string): Promise<string[]> =>
  (
    await rowsOf<{ role_id: string }>(
      api,
      'select role_id from role_assignments where identity_id = $1 and node_id = $2 and removed_at is null order by role_id',
      [identityId, nodeId],
    )
  ).map(({ role_id }) => role_id);

export interface TestOrganization {
  id: string;
  slug: string;
  version: number;
}

/** Creates an organization; returns it as the API answers. @throws Error if the API refuses it */
export async function newOrganization(call: Calls, name: string, more: object = {}): Promise<TestOrganization> {
  const answer = await call('POST', '/organizations', { name, ...more });
  if (answer.statusCode !== 201) throw new Error(`${outcomeOf(answer)} ${answer.body}`);
  return answer.json().data;
}
