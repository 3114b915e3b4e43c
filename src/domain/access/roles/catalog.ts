import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Permission } from '../../../../entities/permission.js';
import type { Clock } from '../../../platform/clock.js';
import { type Db, within } from '../../../platform/database/db.js';
import { violates } from '../../../platform/database/postgres-errors.js';
import { type EnvironmentScope, environmentScopeOf } from '../../../platform/scope.js';
import { changedFields } from '../../changed-fields.js';
import { DomainError, invalidField } from '../../errors.js';
import { recordEvent } from '../../events/record.js';
import { containing, type Page, type PageRequest, readPage } from '../../lists/paging.js';
import { notEnded } from '../decisions/in-force.js';
import { recordPermissionChanges } from './changes.js';
import { categoryOf, isReservedKey } from './permissions.js';

export interface NewPermission {
  key: string;
  name: string;
  description: string | null;
  category: string | null;
}
export type PermissionChanges = Partial<Omit<NewPermission, 'key'>>;

/** A role that holds a permission, and how many assignments of the role are in force or are going to be. */
export interface PermissionUse {
  id: string;
  name: string;
  isSystemRole: boolean;
  assignmentCount: number;
}

export type PermissionSort = 'key' | 'name' | 'created_at';

export type PermissionPage = PageRequest<PermissionSort> & {
  key?: string | undefined;
  category?: string | undefined;
  source?: Permission['source'] | undefined;
};

const columns: Record<PermissionSort, string[]> = {
  key: ['permission.key', 'permission.id'],
  name: ['permission.name', 'permission.id'],
  created_at: ['permission.createdAt', 'permission.id'],
};

/**
 * What can be allowed in an Environment: the system's permissions, read-only, and those that its applications register.
 */
export function createPermissionCatalog({ db, now }: { db: Db; now: Clock }) {
  return {
    list: (scope: EnvironmentScope, page: PermissionPage): Promise<Page<Permission>> =>
      db.transaction(scope, (tx) => {
        const query = tx.createQueryBuilder(Permission, 'permission').where(within(scope));
        if (page.q) {
          const pattern = containing(page.q);
          query.andWhere('(permission.key ilike :pattern or permission.name ilike :pattern)', { pattern });
        }
        if (page.key !== undefined) query.andWhere('permission.key = :key', page);
        if (page.category !== undefined) query.andWhere('permission.category = :category', page);
        if (page.source !== undefined) query.andWhere('permission.source = :source', page);
        return readPage(query, page, columns[page.sortBy]);
      }),

    /** @throws DomainError permission.not_found */
    get: (scope: EnvironmentScope, id: string): Promise<Permission> =>
      db.transaction(scope, (tx) => findPermission(tx, scope, id)),

    /**
     * @throws DomainError permission.key_taken, also for a system permission's; validation.failed for one that is
     *   reserved
     */
    create: (scope: EnvironmentScope, input: NewPermission): Promise<Permission> =>
      db
        .transaction(scope, async (tx) => {
          const permission: Permission = {
            ...environmentScopeOf(scope),
            ...input,
            id: uuidv7(),
            category: input.category ?? categoryOf(input.key),
            source: 'custom',
            version: 1,
            createdAt: now(),
          };
          await tx.insert(Permission, permission);
          // After the insert: a reserved key that exists is refused as taken, like any other.
          if (isReservedKey(input.key)) throw invalidField('key', 'reserved', 'svc: is reserved for the service');
          await recordEvent(tx, 'permission.created', {
            ...scope,
            resourceId: permission.id,
            resourceLabel: permission.key,
            metadata: { key: permission.key },
          });
          return permission;
        })
        .catch((error: unknown) => {
          throw violates(error, 'permissions_key') ? new DomainError('permission.key_taken') : error;
        }),

    /** @throws DomainError permission.not_found, permission.system, version.conflict */
    update: (scope: EnvironmentScope, id: string, version: number, changes: PermissionChanges): Promise<Permission> =>
      db.transaction(scope, async (tx) => {
        const current = await lockCustom(tx, scope, id, version);
        const { category = current.category, ...rest } = changes;
        const wanted = { ...rest, category: category ?? categoryOf(current.key) };
        const changed = changedFields(current, wanted);
        if (changed.length === 0) return current;
        const updated = { ...current, ...wanted, version: version + 1 };
        await tx.update(Permission, { ...within(scope), id }, updated);
        const metadata = { key: current.key, changed };
        await recordEvent(tx, 'permission.updated', { ...scope, resourceId: id, resourceLabel: current.key, metadata });
        return updated;
      }),

    /**
     * Deletes a permission, also from every role, which changes each of them.
     * @throws DomainError permission.not_found, permission.system, version.conflict
     */
    remove: (scope: EnvironmentScope, id: string, version: number): Promise<void> =>
      db.transaction(scope, async (tx) => {
        const { key } = await lockCustom(tx, scope, id, version);
        const held = await lockHolders(tx, scope, id);
        await recordPermissionChanges(
          tx,
          scope,
          held.map((role) => ({ ...role, added: [], removed: [key] })),
          now(),
        );
        await tx.delete(Permission, { ...within(scope), id });
        await recordEvent(tx, 'permission.deleted', {
          ...scope,
          resourceId: id,
          resourceLabel: key,
          metadata: { key },
        });
      }),

    /** The roles that hold it. @throws DomainError permission.not_found */
    usage: (scope: EnvironmentScope, id: string): Promise<PermissionUse[]> =>
      db.transaction(scope, async (tx) => {
        await findPermission(tx, scope, id);
        return tx.query<PermissionUse[]>(
          `select r.id, r.name::text, r.system_key is not null as "isSystemRole",
             (select count(*)::int from role_assignments a where a.role_id = r.id and ${notEnded('$3')}) as "assignmentCount"
           from role_permissions rp join roles r on r.id = rp.role_id
           where rp.permission_id = $1 and rp.environment_id = $2 order by r.name, r.id`,
          [id, scope.environmentId, now()],
        );
      }),
  };
}

export type PermissionCatalog = ReturnType<typeof createPermissionCatalog>;

async function findPermission(tx: EntityManager, scope: EnvironmentScope, id: string): Promise<Permission> {
  const permission = await tx.findOneBy(Permission, { ...within(scope), id });
  if (!permission) throw new DomainError('permission.not_found');
  return permission;
}

/** Locks a permission and the roles that hold it: in this order everywhere. */
const lockHolders = (tx: EntityManager, { environmentId }: EnvironmentScope, permissionId: string) =>
  tx.query<{ id: string; name: string }[]>(
    `select id, name::text from roles where environment_id = $1
       and id in (select role_id from role_permissions where permission_id = $2) order by id for no key update`,
    [environmentId, permissionId],
  );

async function lockCustom(tx: EntityManager, scope: EnvironmentScope, id: string, version: number) {
  const where = { ...within(scope), id };
  const current = await tx.findOne(Permission, { where, lock: { mode: 'pessimistic_write' } });
  if (!current) throw new DomainError('permission.not_found');
  if (current.source === 'system') throw new DomainError('permission.system');
  if (current.version !== version) throw new DomainError('version.conflict', { current });
  return current;
}
