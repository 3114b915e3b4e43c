import { type EntityManager, In } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Permission } from '../../../../entities/permission.js';
import { Role } from '../../../../entities/role.js';
import type { Clock } from '../../../platform/clock.js';
import { type Db, within } from '../../../platform/database/db.js';
import { insertNew } from '../../../platform/database/insert-new.js';
import { type EnvironmentScope, environmentScopeOf } from '../../../platform/scope.js';
import { DomainError, type ErrorDetail, invalidField } from '../../errors.js';
import { recordEvent, recordEvents } from '../../events/record.js';
import { recordPermissionChanges } from './changes.js';
import { categoryOf, isReservedKey } from './permissions.js';

/** What an application protects, and what can be done with it: together the permissions `name.action`. */
export interface Resource {
  name: string;
  actions: string[];
}
export interface RoleGrant {
  roleId: string;
  permissionKeys: string[];
}

/** The numbers of permissions that were created, of those that were there already, and of roles that gained any. */
export interface SetupOutcome {
  permissionsCreated: number;
  skippedPermissions: number;
  rolesUpdated: number;
}

const maxPermissions = 1000;

/**
 * Registers the permissions of an application's resources and puts them into roles, in an Environment that is in use.
 */
export function createAccessSetup({ db, now }: { db: Db; now: Clock }) {
  return {
    /**
     * Adds all of it or nothing. Existing entries stay as they are, so a repetition, even in parallel, adds nothing.
     * @throws DomainError role.not_found, role.system, validation.failed for a permission that is unknown after it, for
     *   a new one that is reserved, and for more than 1000
     */
    add: (
      scope: EnvironmentScope,
      { resources, grants }: { resources: readonly Resource[]; grants: readonly RoleGrant[] },
    ): Promise<SetupOutcome> =>
      db.transaction(scope, async (tx) => {
        const keys = [
          ...new Set(resources.flatMap(({ name, actions }) => actions.map((action) => `${name}.${action}`))),
        ];
        if (keys.length > maxPermissions) {
          throw invalidField('resources', 'too_many', `must not name more than ${maxPermissions} permissions`);
        }
        const created = await register(tx, scope, keys.sort(), now());
        const updated = await bind(tx, scope, grants, now());
        if (created > 0 || updated > 0) {
          await recordEvent(tx, 'resource_permissions.added', {
            ...scope,
            resourceId: scope.environmentId,
            metadata: {
              resources: [...new Set(resources.map(({ name }) => name))],
              permissions_created: created,
              roles_updated: updated,
            },
          });
        }
        return { permissionsCreated: created, skippedPermissions: keys.length - created, rolesUpdated: updated };
      }),
  };
}

export type AccessSetup = ReturnType<typeof createAccessSetup>;

/**
 * Locks the roles that are to hold more. After the permissions, and in the order of their ids, so that two callers
 * never wait for each other in a circle.
 */
async function lockRoles(tx: EntityManager, scope: EnvironmentScope, grants: readonly RoleGrant[]): Promise<Role[]> {
  const ids = new Set(grants.map(({ roleId }) => roleId));
  const roles = await tx.find(Role, {
    where: { ...within(scope), id: In([...ids]) },
    order: { id: 'asc' },
    lock: { mode: 'for_no_key_update' },
  });
  if (roles.length < ids.size) throw new DomainError('role.not_found');
  if (roles.some(({ systemKey }) => systemKey !== null)) throw new DomainError('role.system');
  return roles;
}

/**
 * Creates the permissions that are missing, and makes sure that all of them exist until the end of the transaction: one
 * that somebody deletes before it is locked is created again.
 * @param keys sorted, so that two callers never wait for each other in a circle
 * @returns how many were created
 */
async function register(
  tx: EntityManager,
  scope: EnvironmentScope,
  keys: readonly string[],
  at: Date,
): Promise<number> {
  const created: Permission[] = [];
  for (let missing = keys; missing.length > 0; ) {
    const rows = missing.map((key) => newPermission(scope, key, at));
    const made = await insertNew(tx, Permission, rows);
    created.push(...rows.filter(({ id }) => made.has(id)));
    const there = new Set((await lockPermissions(tx, scope, missing)).map(({ key }) => key));
    missing = missing.filter((key) => !there.has(key));
  }
  const reserved = created.find(({ key }) => isReservedKey(key));
  if (reserved) throw invalidField('resources', 'reserved', `${reserved.key}: svc: is reserved for the service`);
  await recordEvents(
    tx,
    'permission.created',
    created.map(({ id, key }) => ({ ...scope, resourceId: id, resourceLabel: key, metadata: { key } })),
  );
  return created.length;
}

const newPermission = (scope: EnvironmentScope, key: string, at: Date): Permission => ({
  ...environmentScopeOf(scope),
  id: uuidv7(),
  key,
  name: key,
  description: null,
  category: categoryOf(key),
  source: 'custom',
  version: 1,
  createdAt: at,
});

/**
 * Locks the permissions with these keys, as far as they exist. Several callers can hold this lock at once; it keeps the
 * permissions from being deleted, which would break a reference to them.
 */
const lockPermissions = (tx: EntityManager, { environmentId }: EnvironmentScope, keys: readonly string[]) =>
  tx.query<{ id: string; key: string }[]>(
    'select id, key from permissions where environment_id = $1 and key = any($2) order by key for key share',
    [environmentId, keys],
  );

/** Adds permissions to roles; returns how many roles hold more than before. */
async function bind(
  tx: EntityManager,
  scope: EnvironmentScope,
  grants: readonly RoleGrant[],
  at: Date,
): Promise<number> {
  const asked = [...new Set(grants.flatMap(({ permissionKeys }) => permissionKeys))];
  const known = await lockPermissions(tx, scope, asked);
  const roles = await lockRoles(tx, scope, grants);
  const idOf = new Map(known.map(({ id, key }) => [key, id]));
  refuseUnknown(grants, idOf);
  const wanted = grants.flatMap(({ roleId, permissionKeys }) => permissionKeys.map((key) => [roleId, idOf.get(key)]));
  const added = await tx.query<{ roleId: string; key: string }[]>(
    `with added as (
       insert into role_permissions (role_id, permission_id, account_id, environment_id)
       select distinct role_id, permission_id, $3::uuid, $4::uuid from unnest($1::uuid[], $2::uuid[]) as wanted (role_id, permission_id)
       on conflict do nothing returning role_id, permission_id)
     select added.role_id as "roleId", p.key from added join permissions p on p.id = added.permission_id order by p.key`,
    [wanted.map(([roleId]) => roleId), wanted.map(([, id]) => id), scope.accountId, scope.environmentId],
  );
  const updated = roles.filter(({ id }) => added.some(({ roleId }) => roleId === id));
  const addedTo = (id: string) => added.filter(({ roleId }) => roleId === id).map(({ key }) => key);
  await recordPermissionChanges(
    tx,
    scope,
    updated.map(({ id, name }) => ({ id, name, added: addedTo(id), removed: [] })),
    at,
  );
  return updated.length;
}

function refuseUnknown(grants: readonly RoleGrant[], known: ReadonlyMap<string, string>): void {
  const details = grants.flatMap(({ permissionKeys }, i) =>
    permissionKeys.flatMap((key, k): ErrorDetail[] =>
      known.has(key)
        ? []
        : [
            {
              field: `role_permissions[${i}].permission_keys[${k}]`,
              code: 'unknown',
              message: 'is not a permission of the environment',
            },
          ],
    ),
  );
  if (details.length > 0) throw new DomainError('validation.failed', { details });
}
