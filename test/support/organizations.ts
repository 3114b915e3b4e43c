import { v7 as uuidv7 } from 'uuid';
import { Node, type NodeStatus } from '../../entities/node.js';
import { type AuthenticationPolicy, Organization } from '../../entities/organization.js';
import { OrganizationMember } from '../../entities/organization-member.js';
import { defaultAuthenticationPolicy } from '../../src/domain/hierarchy/organization-rows.js';
import type { TestEnvironment } from './oauth/environment.js';
import type { TestProvider } from './oauth/provider.js';

interface Given {
  name?: string;
  slug?: string;
  status?: NodeStatus;
  /** Another organization; absent: the Environment's root. */
  parent?: TestOrganization;
  policy?: Partial<AuthenticationPolicy>;
  members?: readonly { id: string }[];
}

export type TestOrganization = Pick<Node, 'id' | 'name' | 'slug' | 'path'>;

/** Creates an organization with its members in an Environment of a provider's test. */
export async function newOrganization(
  { db, now }: Pick<TestProvider, 'db' | 'now'>,
  { accountId, applicationId, environmentId }: Pick<TestEnvironment, 'accountId' | 'applicationId' | 'environmentId'>,
  { name = 'Acme Ltd', slug, status = 'active', parent, policy = {}, members = [] }: Given = {},
): Promise<TestOrganization> {
  const scope = { accountId, applicationId, environmentId };
  const common = {
    ...scope,
    description: null,
    metadata: {},
    version: 1,
    createdAt: now(),
    updatedAt: now(),
  };
  return db.transaction('system', async (tx) => {
    let above = parent ?? (await tx.findOneBy(Node, { environmentId, nodeType: 'root' }));
    if (!above) {
      const id = uuidv7();
      const root = { ...common, id, parentNodeId: null, nodeType: 'root', name: 'Root', slug: 'root', path: [id] };
      await tx.insert(Node, { ...root, status: 'active' });
      above = root;
    }
    const id = uuidv7();
    const organization = { id, name, slug: slug ?? `acme-${id}`, path: [...above.path, id] };
    await tx.insert(Node, {
      ...common,
      ...organization,
      parentNodeId: above.id,
      nodeType: 'organization',
      status,
    });
    await tx.insert(Organization, {
      id,
      accountId,
      environmentId,
      memberCount: members.length,
      pendingInviteCount: 0,
      authenticationPolicy: { ...defaultAuthenticationPolicy, ...policy },
      authenticationPolicyVersion: 1,
    });
    for (const member of members) {
      await tx.insert(OrganizationMember, {
        organizationId: id,
        identityId: member.id,
        accountId,
        environmentId,
        createdAt: now(),
      });
    }
    return organization;
  });
}

/** Sets what an organization requires of its members from now on. */
export const setPolicy = ({ db }: Pick<TestProvider, 'db'>, { id }: { id: string }, policy: object) =>
  db.transaction('system', (tx) =>
    tx.update(Organization, { id }, { authenticationPolicy: { ...defaultAuthenticationPolicy, ...policy } }),
  );

/** Deletes a membership. */
export const leave = ({ db }: Pick<TestProvider, 'db'>, { id }: { id: string }, identity: { id: string }) =>
  db.transaction('system', (tx) => tx.delete(OrganizationMember, { organizationId: id, identityId: identity.id }));
