import type { ScimGroup } from '../../../../entities/scim-group.js';
import { groupKind } from '../kinds.js';
import { ScimRefused } from '../refusal.js';
import type { Resource } from '../schema.js';
import { assertIndexable } from '../values.js';
import type { GroupMember } from './rows.js';

export interface WantedGroup {
  displayName: string;
  externalId: string | null;
}

/** @param before the group that it replaces @throws ScimRefused invalidValue */
export function wantedGroupOf(
  { displayName, externalId: itsId }: Resource,
  before: Partial<WantedGroup> = {},
): WantedGroup {
  if (typeof displayName !== 'string' || displayName.trim() === '')
    throw new ScimRefused('invalidValue', 'displayName is required');
  const externalId = (itsId as string | undefined) ?? null;
  assertIndexable('displayName', displayName, before.displayName);
  assertIndexable('externalId', externalId, before.externalId);
  return { displayName, externalId };
}

/** @param members null if they were not asked for @param baseUrl of `/scim/v2` */
export function presentGroup(group: ScimGroup, members: readonly GroupMember[] | null, baseUrl: string): Resource {
  return {
    schemas: [groupKind.schema.id],
    id: group.id,
    ...(group.externalId !== null && { externalId: group.externalId }),
    displayName: group.displayName,
    ...(members &&
      members.length > 0 && {
        members: members.map(({ id }) => ({
          value: id,
          $ref: `${baseUrl}/Users/${id}`,
          type: 'User',
        })),
      }),
    meta: {
      resourceType: 'Group',
      created: group.createdAt.toISOString(),
      lastModified: group.updatedAt.toISOString(),
      location: `${baseUrl}/Groups/${group.id}`,
      version: groupVersion(group),
    },
  };
}

export const groupVersion = ({ version }: Pick<ScimGroup, 'version'>): string => `W/"${version}"`;
