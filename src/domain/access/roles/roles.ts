import { type EntityManager, In } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Permission } from '../../../../entities/permission.js';
import { Role } from '../../../../entities/role.js';
import { RolePermission } from '../../../../entities/role-permission.js';
import { ScimGroupMapping } from '../../../../entities/scim-group-mapping.js';
import { SsoConnection } from '../../../../entities/sso-connection.js';
import type { Clock } from '../../../platform/clock.js';
import { type Db, within } from '../../../platform/database/db.js';
import { inParts, type Left } from '../../../platform/database/in-parts.js';
import { violates } from '../../../platform/database/postgres-errors.js';
import { type EnvironmentScope, environmentScopeOf } from '../../../platform/scope.js';
import type { Caller } from '../../caller.js';
import { changedFields } from '../../changed-fields.js';
import { DomainError, type ErrorDetail } from '../../errors.js';
import { recordEvent } from '../../events/record.js';
import { cannotGrant } from '../../forbidden.js';
import type { Page } from '../../lists/paging.js';
import { deleteRemoved, lockAssignments, removeAssignments } from '../assignments/removing.js';
import type { Evaluation } from '../decisions/evaluate.js';
import type { ReachedNodes } from '../rights.js';
import { recordPermissionChanges } from './changes.js';
import { lackingAtRoot } from './granting.js';
import { assignableRoles, type CountedRole, countedRole, listRoles, type RolesPage } from './lists.js';

export interface NewRole {
  name: string;
  description: string | null;
  isActive: boolean;
  permissionKeys: string[];
}
export type RoleChanges = Partial<Omit<NewRole, 'permissionKeys'>>;

export interface RolesDeps {
  db: Db;
  evaluation: Evaluation;
  now: Clock;
  /** The most assignments that one transaction deletes with their role. */
  removedAtOnce?: number;
}

/**
 * The roles of an Environment; the system's are read-only. Nobody puts a permission into one that they lack (contract
 * §5).
 */
export function createRoles({ db, evaluation, now, removedAtOnce = 5_000 }: RolesDeps) {
  const holdersIn = (part: ReachedNodes = null) => ({ at: now(), part });
  const counted = (tx: EntityManager, scope: EnvironmentScope, id: string, part?: ReachedNodes) =>
    countedRole(tx, scope, id, holdersIn(part));

  async function assertMayGrant(scope: EnvironmentScope, caller: Caller, keys: readonly string[]) {
    const lacking = await lackingAtRoot(evaluation, scope, caller, keys);
    if (lacking.length > 0) throw cannotGrant('role.cannot_grant', 'permission_keys', lacking);
  }

  /**
   * A decision that was made by what a role held must be made again if the role has changed meanwhile; `If-Match` does
   * not show that, since the caller may have named the next version.
   * @throws DomainError version.conflict
   */
  async function assertAsSeen(current: Role, seen: Role, shown: (role: Role) => Promise<object>) {
    if (current.version !== seen.version) throw new DomainError('version.conflict', { current: await shown(current) });
  }

  /** @returns `more` if assignments may be left: then the role is, too */
  const removeSome = (scope: EnvironmentScope, id: string, version: number): Promise<Left> =>
    db.transaction(scope, async (tx) => {
      const shown = () => counted(tx, scope, id);
      const role = await lockCustom(tx, scope, { id, version, mode: 'pessimistic_write' }, shown);
      // A role that people hold is not deleted: its assignments have to be removed first, knowingly.
      if ((await shown()).memberCount > 0 || (await isAssignedAutomatically(tx, scope, id)))
        throw new DomainError('role.in_use');
      // Lists still show ended assignments: whoever keeps a copy is told that they are gone.
      const ended = await lockAssignments(tx, { ...within(scope), roleId: id }, removedAtOnce);
      const endedIds = ended.map((assignment) => assignment.id);
      await removeAssignments(tx, scope, endedIds, now());
      if ((await deleteRemoved(tx, scope, id, removedAtOnce)) === removedAtOnce) return 'more';
      await tx.delete(Role, { ...within(scope), id });
      await recordEvent(tx, 'role.deleted', { ...scope, resourceId: id, resourceLabel: role.name });
      return 'done';
    });

  return {
    /** @param part whose holders are counted; null is everybody */
    list: (scope: EnvironmentScope, page: RolesPage, part: ReachedNodes): Promise<Page<CountedRole>> =>
      listRoles(db, scope, page, holdersIn(part)),

    assignable: (scope: EnvironmentScope, part: ReachedNodes): Promise<CountedRole[]> =>
      db.transaction(scope, (tx) => assignableRoles(tx, scope, holdersIn(part))),

    /** @throws DomainError role.not_found */
    get: (scope: EnvironmentScope, id: string, part?: ReachedNodes): Promise<CountedRole> =>
      db.transaction(scope, (tx) => counted(tx, scope, id, part)),

    /** @throws DomainError role.name_taken, role.cannot_grant, validation.failed for unknown permissions */
    async create(scope: EnvironmentScope, caller: Caller, { permissionKeys, ...input }: NewRole): Promise<CountedRole> {
      await assertMayGrant(scope, caller, permissionKeys);
      return refusingTakenName(() =>
        db.transaction(scope, async (tx) => {
          const held = await lockPermissions(tx, scope, permissionKeys);
          const at = now();
          const role: Role = {
            ...environmentScopeOf(scope),
            ...input,
            id: uuidv7(),
            systemKey: null,
            version: 1,
            createdAt: at,
            updatedAt: at,
          };
          await tx.insert(Role, role);
          await insertPermissions(tx, scope, role.id, held);
          const metadata = { permission_keys: keysIn(held), is_active: role.isActive };
          await recordEvent(tx, 'role.created', { ...scope, resourceId: role.id, resourceLabel: role.name, metadata });
          return { ...role, permissionCount: held.length, memberCount: 0 };
        }),
      );
    },

    /**
     * Changes a role. Activating it grants its permissions to everybody who holds it.
     * @throws DomainError role.not_found, role.system, role.name_taken, role.cannot_grant, version.conflict
     */
    async update(
      scope: EnvironmentScope,
      caller: Caller,
      { id, version, changes }: { id: string; version: number; changes: RoleChanges },
    ): Promise<CountedRole> {
      const seen = await this.permissions(scope, id);
      const isActivated = changes.isActive === true && !seen.role.isActive && seen.role.systemKey === null;
      if (isActivated && seen.role.version === version) await assertMayGrant(scope, caller, keysIn(seen.permissions));
      return refusingTakenName(() =>
        db.transaction(scope, async (tx) => {
          const shown = () => counted(tx, scope, id);
          const mode = changes.name === undefined ? 'for_no_key_update' : 'pessimistic_write'; // a name is a key
          const current = await lockCustom(tx, scope, { id, version, mode }, shown);
          await assertAsSeen(current, seen.role, shown);
          const changed = changedFields(current, changes);
          if (changed.length === 0) return shown();
          const updated = { ...current, ...changes, version: version + 1, updatedAt: now() };
          await tx.update(Role, { ...within(scope), id }, updated);
          const metadata = { changed, is_active: updated.isActive };
          await recordEvent(tx, 'role.updated', { ...scope, resourceId: id, resourceLabel: updated.name, metadata });
          return shown();
        }),
      );
    },

    /**
     * Deletes a role that nobody holds, with its ended assignments; many of them in several transactions. If that is
     * interrupted, the next request continues with it.
     * @throws DomainError role.not_found, role.system, role.in_use, version.conflict
     */
    remove: (scope: EnvironmentScope, id: string, version: number): Promise<void> =>
      inParts(() => removeSome(scope, id, version)),

    /** @throws DomainError role.not_found */
    permissions: (scope: EnvironmentScope, id: string): Promise<{ role: Role; permissions: Permission[] }> =>
      db.transaction(scope, async (tx) => {
        const role = await findRole(tx, scope, id);
        return { role, permissions: await permissionsHeld(tx, scope, id) };
      }),

    /**
     * Replaces the permissions of a role. Those that it holds may stay, whoever calls; adding one is granting it. The
     * same set again is no change.
     * @throws DomainError role.not_found, role.system, role.cannot_grant, version.conflict, validation.failed
     */
    async setPermissions(
      scope: EnvironmentScope,
      caller: Caller,
      { id, version, permissionKeys }: { id: string; version: number; permissionKeys: string[] },
    ): Promise<{ role: Role; permissions: Permission[] }> {
      const seen = await this.permissions(scope, id);
      await assertMayGrant(scope, caller, without(permissionKeys, keysIn(seen.permissions)));
      return db.transaction(scope, async (tx) => {
        const shown = async (role: Role) => ({ role, permissions: await permissionsHeld(tx, scope, id) });
        const held = await lockPermissions(tx, scope, permissionKeys);
        const current = await lockCustom(tx, scope, { id, version }, shown);
        await assertAsSeen(current, seen.role, shown);
        const [keys, had] = [keysIn(held), keysIn(await permissionsHeld(tx, scope, id))];
        const [added, removed] = [without(keys, had), without(had, keys)];
        if (added.length === 0 && removed.length === 0) return { role: current, permissions: held };
        const role = { ...current, version: version + 1, updatedAt: now() };
        await tx.delete(RolePermission, { ...within(scope), roleId: id });
        await insertPermissions(tx, scope, id, held);
        await recordPermissionChanges(tx, scope, [{ id, name: role.name, added, removed }], role.updatedAt);
        return { role, permissions: held };
      });
    },
  };
}

/**
 * Whether an SSO connection grants the role to new people, or a mapping to the members of a group: without the role
 * they would silently grant nothing.
 */
async function isAssignedAutomatically(tx: EntityManager, scope: EnvironmentScope, id: string): Promise<boolean> {
  const of = within(scope);
  return (
    (await tx.existsBy(SsoConnection, { ...of, defaultRoleId: id })) ||
    (await tx.existsBy(ScimGroupMapping, { ...of, roleId: id }))
  );
}

export type Roles = ReturnType<typeof createRoles>;

const keysIn = (permissions: readonly Permission[]) => permissions.map(({ key }) => key);
const without = (keys: readonly string[], others: readonly string[]) => keys.filter((key) => !others.includes(key));

/** Does work that gives a role its name. @throws DomainError role.name_taken */
async function refusingTakenName<T>(work: () => Promise<T>): Promise<T> {
  return work().catch((error: unknown) => {
    throw violates(error, 'roles_name') ? new DomainError('role.name_taken') : error;
  });
}

/** @throws DomainError role.not_found */
export async function findRole(tx: EntityManager, scope: EnvironmentScope, id: string): Promise<Role> {
  const role = await tx.findOneBy(Role, { ...within(scope), id });
  if (!role) throw new DomainError('role.not_found');
  return role;
}

const permissionsHeld = (tx: EntityManager, scope: EnvironmentScope, id: string): Promise<Permission[]> =>
  tx
    .createQueryBuilder(Permission, 'permission')
    .innerJoin(RolePermission, 'held', 'held.permissionId = permission.id and held.roleId = :id', { id })
    .where(within(scope))
    .orderBy('permission.key')
    .getMany();

interface Locked {
  id: string;
  version: number;
  mode?: 'pessimistic_write' | 'for_no_key_update';
}

/**
 * Locks a role against other changes and against its removal. A removal also waits for transactions that are granting
 * the role.
 */
async function lockCustom(
  tx: EntityManager,
  scope: EnvironmentScope,
  { id, version, mode = 'for_no_key_update' }: Locked,
  shown: (role: Role) => Promise<object>,
): Promise<Role> {
  const where = { ...within(scope), id };
  const current = await tx.findOne(Role, { where, lock: { mode } });
  if (!current) throw new DomainError('role.not_found');
  if (current.systemKey !== null) throw new DomainError('role.system');
  if (current.version !== version) throw new DomainError('version.conflict', { current: await shown(current) });
  return current;
}

/**
 * Returns the permissions with these keys, in the order of their keys, locked against removal until the end of the
 * transaction: a reference to a removed one would fail. Call it before locking a role, in the order in which the
 * removal of a permission takes its locks.
 * @throws DomainError validation.failed
 */
async function lockPermissions(
  tx: EntityManager,
  scope: EnvironmentScope,
  keys: readonly string[],
): Promise<Permission[]> {
  const found = await tx.find(Permission, {
    where: { ...within(scope), key: In([...keys]) },
    order: { key: 'asc' },
    lock: { mode: 'for_key_share' },
  });
  const known = new Set(found.map(({ key }) => key));
  const details = keys.flatMap((key, i): ErrorDetail[] =>
    known.has(key)
      ? []
      : [{ field: `permission_keys[${i}]`, code: 'unknown', message: 'is not a permission of the environment' }],
  );
  if (details.length > 0) throw new DomainError('validation.failed', { details });
  return found;
}

async function insertPermissions(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  roleId: string,
  permissions: readonly Permission[],
): Promise<void> {
  await tx.insert(
    RolePermission,
    permissions.map(({ id: permissionId }) => ({ roleId, permissionId, accountId, environmentId })),
  );
}
