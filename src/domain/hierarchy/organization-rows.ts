import type { EntityManager } from 'typeorm';
import type { Node } from '../../../entities/node.js';
import { type AuthenticationPolicy, Organization } from '../../../entities/organization.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { addToCounter } from '../lists/counters.js';
import { organizationType } from './rules.js';

/** What a new organization requires of its members: the same as the Environment. */
export const defaultAuthenticationPolicy: AuthenticationPolicy = {
  allowed_methods: null,
  require_mfa: false,
  require_sso: false,
  session_ttl_seconds: null,
};

export const isOrganization = ({ nodeType }: Pick<Node, 'nodeType'>): boolean => nodeType === organizationType;

/** Creates the further row of a node of type `organization`, in the transaction that creates the node. */
export async function addOrganization(tx: EntityManager, scope: EnvironmentScope, { id }: Node): Promise<void> {
  await tx.insert(Organization, {
    id,
    accountId: scope.accountId,
    environmentId: scope.environmentId,
    memberCount: 0,
    pendingInviteCount: 0,
    authenticationPolicy: defaultAuthenticationPolicy,
    authenticationPolicyVersion: 1,
  });
  await addToCounter(tx, scope, 'organizations', 1);
}
