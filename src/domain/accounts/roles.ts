import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { AdministratorInvite } from '../../../entities/administrator-invite.js';
import { AdministratorRole } from '../../../entities/administrator-role.js';
import { MembershipRole } from '../../../entities/membership-role.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import type { AccountScope } from '../../platform/scope.js';
import { builtInRoles, type Capability, capabilitiesOf } from '../capabilities/administrator-roles.js';
import { assertHolds, authorityOf, lockAdministration } from '../capabilities/roles-authority.js';
import { changedFields } from '../changed-fields.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { containing, type Page, type PageRequest, readPage } from '../lists/paging.js';

export interface RoleInput {
  name: string;
  description: string | null;
  capabilities: Capability[];
}

/** A role as it is shown. Texts and capabilities of a built-in role are those of the running release. */
export interface ShownRole extends Omit<AdministratorRole, 'capabilities'> {
  capabilities: Capability[];
}

export interface AdministratorRoles {
  list(scope: AccountScope, page: PageRequest<keyof typeof columns>): Promise<Page<ShownRole>>;
  /** @throws DomainError administrator_role.not_found */
  get(scope: AccountScope, id: string): Promise<ShownRole>;
  /** @throws DomainError administrator_role.name_taken, administrator_role.cannot_grant */
  create(scope: AccountScope, userId: string, input: RoleInput): Promise<ShownRole>;
  /** @throws DomainError as `create`, and administrator_role.not_found, administrator_role.built_in */
  update(scope: AccountScope, userId: string, id: string, changes: Partial<RoleInput>): Promise<ShownRole>;
  /** @throws DomainError administrator_role.not_found, administrator_role.built_in, administrator_role.in_use */
  remove(scope: AccountScope, userId: string, id: string): Promise<void>;
}

const columns = { created_at: ['role.createdAt', 'role.id'], name: ['role.name', 'role.id'] };

/** The roles of administrators: built-in roles, and roles that an Account defines itself (contract §10). */
export function createAdministratorRoles({ db, now }: { db: Db; now: Clock }): AdministratorRoles {
  /** Runs a change under the Account's lock, with the caller's rights as they are at this moment. */
  const change = <T>(
    scope: AccountScope,
    userId: string,
    work: (tx: EntityManager, holder: Awaited<ReturnType<typeof authorityOf>>) => Promise<T>,
  ) =>
    db.transaction({ accountId: scope.accountId }, async (tx) => {
      await lockAdministration(tx, scope);
      return work(tx, await authorityOf(tx, scope, userId));
    });

  return {
    list: ({ accountId }, page) =>
      db.transaction({ accountId }, async (tx) => {
        const query = tx.createQueryBuilder(AdministratorRole, 'role').where({ accountId });
        if (page.q) query.andWhere('role.name ilike :pattern', { pattern: containing(page.q) });
        const { rows, ...rest } = await readPage(query, page, columns[page.sortBy]);
        return { ...rest, rows: rows.map(shown) };
      }),
    get: (scope, id) =>
      db.transaction({ accountId: scope.accountId }, async (tx) => shown(await findRole(tx, scope, id))),
    create: (scope, userId, wanted) =>
      change(scope, userId, async (tx, holder) => {
        const input = { ...wanted, capabilities: inOrder(wanted.capabilities) };
        assertHolds(holder, input.capabilities);
        await assertNameFree(tx, scope, input.name);
        const { accountId } = scope;
        const at = now();
        const role = { ...input, id: uuidv7(), accountId, systemKey: null, createdAt: at, updatedAt: at };
        await tx.insert(AdministratorRole, role);
        const metadata = { capabilities: input.capabilities };
        await recordEvent(tx, 'administrator_role.created', {
          accountId,
          resourceId: role.id,
          resourceLabel: role.name,
          metadata,
        });
        return shown(role);
      }),
    update: (scope, userId, id, wanted) =>
      change(scope, userId, async (tx, holder) => {
        const changes = {
          ...wanted,
          ...(wanted.capabilities && { capabilities: inOrder(wanted.capabilities) }),
        };
        const current = await findCustom(tx, scope, id);
        const before = new Set(capabilitiesOf([current]));
        const changed = changedFields(current, changes);
        if (changed.length === 0) return shown(current);
        // Capabilities that the role has already may stay; to add one, the caller must hold it.
        assertHolds(holder, changes.capabilities?.filter((capability) => !before.has(capability)) ?? []);
        if (changes.name !== undefined) await assertNameFree(tx, scope, changes.name, id);
        const updated = { ...current, ...changes, updatedAt: now() };
        const { accountId } = scope;
        await tx.update(AdministratorRole, { accountId, id }, updated);
        const { capabilities } = updated;
        const metadata = { changed, ...(changed.includes('capabilities') && { capabilities }) };
        await recordEvent(tx, 'administrator_role.updated', {
          accountId,
          resourceId: id,
          resourceLabel: updated.name,
          metadata,
        });
        return shown(updated);
      }),
    remove: (scope, userId, id) =>
      change(scope, userId, async (tx) => {
        const { name } = await findCustom(tx, scope, id);
        const { accountId } = scope;
        const open = await tx.findBy(AdministratorInvite, { accountId, roleId: id, status: 'pending' });
        const promised = open.some(({ expiresAt }) => expiresAt > now());
        if (promised || (await tx.existsBy(MembershipRole, { accountId, roleId: id }))) {
          throw new DomainError('administrator_role.in_use');
        }
        await tx.delete(AdministratorRole, { accountId, id });
        await recordEvent(tx, 'administrator_role.deleted', { accountId, resourceId: id, resourceLabel: name });
      }),
  };
}

const inOrder = (capabilities: readonly string[]) => capabilitiesOf([{ systemKey: null, capabilities }]);

/** @throws DomainError administrator_role.not_found */
async function findRole(tx: EntityManager, { accountId }: AccountScope, id: string): Promise<AdministratorRole> {
  const role = await tx.findOneBy(AdministratorRole, { accountId, id });
  if (!role) throw new DomainError('administrator_role.not_found');
  return role;
}

async function findCustom(tx: EntityManager, scope: AccountScope, id: string): Promise<AdministratorRole> {
  const role = await findRole(tx, scope, id);
  if (role.systemKey) throw new DomainError('administrator_role.built_in');
  return role;
}

/** Compares without case, since a role `owner` next to `Owner` would deceive people who give roles. */
async function assertNameFree(tx: EntityManager, { accountId }: AccountScope, name: string, exceptId?: string) {
  const [taken] = await tx.query(
    'select id from administrator_roles where account_id = $1 and lower(name) = lower($2) and id is distinct from $3',
    [accountId, name, exceptId ?? null],
  );
  if (taken) throw new DomainError('administrator_role.name_taken');
}

const shown = (role: AdministratorRole): ShownRole => ({
  ...role,
  ...(role.systemKey && builtInTexts(role.systemKey)),
  capabilities: capabilitiesOf([role]),
});
const builtInTexts = (key: keyof typeof builtInRoles) => ({
  name: builtInRoles[key].name,
  description: builtInRoles[key].description,
});
