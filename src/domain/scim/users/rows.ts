import type { EntityManager } from 'typeorm';
import { bindInto } from '../../lists/sql-parameters.js';
import type { Directory } from '../directory.js';
import type { Values } from '../filters/sql.js';
import type { Resource } from '../schema.js';

/** A person of a directory's place, as stored; what only SCIM knows is null if it does not provision them. */
export interface UserRow {
  id: string;
  email: string;
  emailVerifiedAt: Date | null;
  hasPassword: boolean;
  firstName: string | null;
  lastName: string | null;
  /** Member of the Environment, and of the organization if the directory is an organization's. */
  isActive: boolean;
  isLetIn: boolean;
  /** The organization whose directory had deactivated them before it stopped provisioning them. */
  keptOutBy: string | null;
  isMember: boolean;
  createdAt: Date;
  updatedAt: Date;
  userName: string | null;
  externalId: string | null;
  attributes: Resource | null;
  isSuspended: boolean;
  madeMembership: boolean;
}

/** Collects the values of a statement; the first three are always account, Environment and directory. */
export function createValues({ scope, directoryId }: Directory): Values & { all: unknown[] } {
  const all: unknown[] = [scope.accountId, scope.environmentId, directoryId];
  return { all, put: bindInto(all) };
}

/**
 * SQL: whether a membership `m` belongs to a directory's place: the Environment, or an organization together with the
 * people whom it provisions or has deactivated.
 */
export const isOfPlace = ({ organizationId }: Directory): string =>
  `m.account_id = $1 and m.environment_id = $2 and ${
    organizationId === null
      ? '$3::uuid is not null'
      : `m.identity_id in (select identity_id from organization_members where organization_id = $3 and environment_id = $2
    union select identity_id from scim_users where directory_id = $3 and environment_id = $2)`
  }`;

/** SQL: the people of a directory's place, as `from … where …`. */
export const peopleOf = (directory: Directory): string => `
from environment_memberships m
  join identities i on i.id = m.identity_id and i.account_id = m.account_id
  left join scim_users s on s.environment_id = m.environment_id and s.identity_id = m.identity_id and s.directory_id = $3
where ${isOfPlace(directory)}`;

/** SQL: whether they are in the place now. */
const memberOf = ({ organizationId }: Directory): string =>
  organizationId === null
    ? 'true'
    : 'exists (select from organization_members o where o.organization_id = $3 and o.identity_id = m.identity_id)';

const lastModified = 'greatest(i.updated_at, s.updated_at, m.created_at)';

export const expressions = (directory: Directory) => ({
  active: `(m.is_active and ${memberOf(directory)})`,
  userName: 'coalesce(s.user_name, i.email::text)',
  created: 'm.created_at',
  lastModified,
});

/** The people with some ids who are in the place, in no order. */
export async function readUsers(tx: EntityManager, directory: Directory, ids: readonly string[]): Promise<UserRow[]> {
  if (ids.length === 0) return [];
  const values = createValues(directory);
  const among = values.put(ids);
  return tx.query<UserRow[]>(
    `select i.id, i.email::text as email, i.email_verified_at as "emailVerifiedAt", i.password_hash is not null as "hasPassword",
       i.first_name as "firstName", i.last_name as "lastName", m.is_active as "isLetIn", m.kept_out_by as "keptOutBy",
       ${memberOf(directory)} as "isMember",
       ${expressions(directory).active} as "isActive", m.created_at as "createdAt", ${lastModified} as "updatedAt",
       s.user_name as "userName", s.external_id as "externalId", s.attributes,
       coalesce(s.is_suspended, false) as "isSuspended", coalesce(s.made_membership, false) as "madeMembership"
     ${peopleOf(directory)} and m.identity_id = any(${among}::uuid[])`,
    values.all,
  );
}

/** The directory's groups of some people, by their ids. */
export async function groupsOf(
  tx: EntityManager,
  { scope, directoryId }: Directory,
  ids: readonly string[],
): Promise<Map<string, { id: string; name: string }[]>> {
  const rows = await tx.query<{ identityId: string; id: string; name: string }[]>(
    `select gm.identity_id as "identityId", g.id, g.display_name as name
     from scim_group_members gm join scim_groups g on g.id = gm.group_id
     where gm.account_id = $1 and gm.environment_id = $2 and gm.identity_id = any($4) and g.directory_id = $3
     order by g.created_at, g.id`,
    [scope.accountId, scope.environmentId, directoryId, ids],
  );
  const found = new Map<string, { id: string; name: string }[]>();
  for (const { identityId, ...group } of rows) found.set(identityId, [...(found.get(identityId) ?? []), group]);
  return found;
}
