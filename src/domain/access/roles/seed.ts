import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Permission } from '../../../../entities/permission.js';
import { Role } from '../../../../entities/role.js';
import { RolePermission } from '../../../../entities/role-permission.js';
import { type EnvironmentScope, environmentScopeOf } from '../../../platform/scope.js';
import { categoryOf, permissions, systemPermissions, systemRoles } from './permissions.js';

/** The system's permissions and roles of a new Environment, in the caller's transaction. */
export async function seedAccess(tx: EntityManager, environment: EnvironmentScope, now: Date): Promise<void> {
  const scope = environmentScopeOf(environment);
  const { accountId, environmentId } = scope;
  const permissionRows = permissions.map((key) => ({
    id: uuidv7(),
    ...scope,
    key,
    name: systemPermissions[key],
    description: null,
    category: categoryOf(key),
    source: 'system' as const,
    version: 1,
    createdAt: now,
  }));
  const roleRows = Object.entries(systemRoles).map(([systemKey, { name, description }]) => ({
    id: uuidv7(),
    ...scope,
    name,
    description,
    systemKey,
    isActive: true,
    version: 1,
    createdAt: now,
    updatedAt: now,
  }));
  const held = roleRows.flatMap((role) =>
    permissionRows
      .filter(({ key }) => holdsOf(role.systemKey).includes(key))
      .map((permission) => ({ roleId: role.id, permissionId: permission.id, accountId, environmentId })),
  );
  await tx.insert(Permission, permissionRows);
  await tx.insert(Role, roleRows);
  await tx.insert(RolePermission, held);
}

const holdsOf = (systemKey: string): readonly string[] =>
  systemRoles[systemKey as keyof typeof systemRoles].permissions;
