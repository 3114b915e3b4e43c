import { Type } from 'typebox';
import type { ShownOrganization } from '../../domain/organizations/organizations.js';
import { managing } from '../../domain/organizations/strangers.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import { at } from '../surfaces/operation.js';
import { ById, Metadata, Nullable, OneOf, Resource, Timestamp } from '../surfaces/schemas.js';

export const OrganizationView = Resource('Organization', {
  id: Type.String({
    format: 'uuid',
    description: 'Also the ID of its node: permissions at the organization are held there.',
  }),
  parent_node_id: Type.String({ format: 'uuid', description: 'Changed by moving the node (see Hierarchy).' }),
  name: Type.String(),
  description: Nullable(Type.String()),
  slug: Type.String(),
  status: OneOf(['active', 'inactive'], {
    description:
      'That of its node, and changed there (`PATCH /nodes/{id}`): while it or a node above it is inactive, nobody signs in for ' +
      'it, and nothing is allowed at it.',
  }),
  metadata: Metadata,
  member_count: Type.Integer(),
  pending_invite_count: Type.Integer(),
  created_at: Timestamp,
  updated_at: Timestamp,
  version: Type.Integer(),
});

export const presentOrganization = (organization: ShownOrganization) => ({
  id: organization.id,
  parent_node_id: organization.parentNodeId as string, // only the root has none
  name: organization.name,
  description: organization.description,
  slug: organization.slug,
  status: organization.status,
  metadata: organization.metadata,
  member_count: organization.memberCount,
  pending_invite_count: organization.pendingInviteCount,
  created_at: organization.createdAt,
  updated_at: organization.updatedAt,
  version: organization.version,
});

export const viewing = { permissions: ['hierarchy.view'], capability: 'env_organizations.view' } as const;

export const common = { tag: 'Organizations', level: 'environment', inPart: true } as const;
export const managed = {
  permission: at('id', managing.permissions, 'organization.not_found'),
  capability: managing.capability,
} as const;

/** What all operations on one organization share. */
export const ofOne = {
  ...common,
  params: ById,
  exists: ({ services, scope, params }: { services: Services; scope: EnvironmentScope; params: { id: string } }) =>
    services.organizations.get(scope, params.id),
} as const;
