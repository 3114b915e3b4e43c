import { type EntityManager, In } from 'typeorm';
import { Account } from '../../../entities/account.js';
import { Membership } from '../../../entities/membership.js';
import { MembershipRole } from '../../../entities/membership-role.js';
import { User } from '../../../entities/user.js';
import type { Db } from '../../platform/database/db.js';
import type { AccountScope } from '../../platform/scope.js';
import { sameLimits } from '../capabilities/role-limits.js';
import { assertMayGrant, authorityOf, lockAdministration, makesOwner } from '../capabilities/roles-authority.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { containing, type Page, type PageRequest, readPage } from '../lists/paging.js';
import { adminDomainsOf, domainOfAddress } from '../sso-connections/covering.js';
import { assertAnotherOwner, endMembership } from './leave.js';
import { type MemberRole, type RoleOfMember, rolesOf, type WantedRole, wantedRoles } from './members-roles.js';

export interface Member {
  id: string;
  user: User;
  roles: MemberRole[];
  /** Whether they have a second factor. */
  mfaEnrolled: boolean;
  /** Whether their address can sign in by the Account's own identity provider. */
  ssoAvailable: boolean;
  createdAt: Date;
}

export interface AccountMembers {
  /** Returns the Account and one of its administrators. */
  read(scope: AccountScope, userId: string): Promise<{ user: User; account: Account }>;
  list(scope: AccountScope, page: PageRequest<keyof typeof columns> & { roleId?: string }): Promise<Page<Member>>;
  /** @throws DomainError member.not_found */
  get(scope: AccountScope, id: string): Promise<Member>;
  /**
   * Gives a member exactly these roles; they apply from the next request.
   * @param userId the administrator who gives them
   * @throws DomainError member.not_found, member.last_owner, member.owner_required, administrator_role.cannot_grant,
   *   validation.failed
   */
  update(scope: AccountScope, userId: string, id: string, roles: WantedRole[]): Promise<Member>;
  /**
   * Ends a member's access at once, and the pending invite to their address.
   * @throws DomainError member.not_found, member.last_owner, member.owner_required
   */
  remove(scope: AccountScope, userId: string, id: string): Promise<void>;
}

const columns = {
  created_at: ['member.createdAt', 'member.id'],
  email: ['user.email', 'member.id'],
  last_name: ['user.lastName', 'member.id'],
};

type Found = Membership & { user: User };

const select = (tx: EntityManager, { accountId }: AccountScope) =>
  tx
    .createQueryBuilder(Membership, 'member')
    .innerJoinAndMapOne('member.user', User, 'user', 'user.id = member.userId')
    .where('member.accountId = :accountId', { accountId });

/** Returns one member, in the Account's scope or the system's. @throws DomainError member.not_found */
export async function findAccountMember(tx: EntityManager, scope: AccountScope, id: string): Promise<Member> {
  const found = (await select(tx, scope).andWhere('member.id = :id', { id }).getOne()) as Found | null;
  if (!found) throw new DomainError('member.not_found');
  return present(found, await rolesOf(tx, scope, [id]), await proofsOf(tx, scope, [found]));
}

export interface AccountMembersDeps {
  db: Db;
  administratorInvites: {
    /** Revokes the pending invite to an address, so that whoever is removed does not return by it. */
    withdraw(tx: EntityManager, scope: AccountScope, email: string): Promise<void>;
  };
}

/** Reads, changes and removes the administrators of an Account (contract §10). */
export function createAccountMembers({ db, administratorInvites }: AccountMembersDeps): AccountMembers {
  return {
    read: ({ accountId }, userId) =>
      db.transaction({ accountId }, async (tx) => ({
        user: await tx.findOneByOrFail(User, { id: userId }),
        account: await tx.findOneByOrFail(Account, { id: accountId }),
      })),

    list: ({ accountId }, { roleId, ...page }) =>
      db.transaction({ accountId }, async (tx) => {
        const query = select(tx, { accountId });
        if (roleId) {
          const holders = 'select held.membership_id from membership_roles held where held.role_id = :roleId';
          query.andWhere(`member.id in (${holders})`, { roleId });
        }
        if (page.q) {
          const searched = `("user".email ilike :pattern or "user".first_name || ' ' || "user".last_name ilike :pattern)`;
          query.andWhere(searched, { pattern: containing(page.q) });
        }
        const { rows, ...rest } = await readPage(query, page, columns[page.sortBy]);
        const ids = rows.map(({ id }) => id);
        const roles = await rolesOf(tx, { accountId }, ids);
        const proofs = await proofsOf(tx, { accountId }, rows as Found[]);
        return { ...rest, rows: rows.map((row) => present(row as Found, roles, proofs)) };
      }),

    get: ({ accountId }, id) => db.transaction({ accountId }, (tx) => findAccountMember(tx, { accountId }, id)),

    update: ({ accountId }, userId, id, wanted) =>
      db.transaction({ accountId }, async (tx) => {
        const scope = { accountId };
        await lockAdministration(tx, scope);
        const member = await findAccountMember(tx, scope, id);
        const roles = await wantedRoles(tx, scope, wanted, member.roles);
        const isHeld = (role: MemberRole) => member.roles.some((held) => isSame(held, role));
        const given = roles.filter((role) => !isHeld(role));
        if (given.length === 0 && roles.length === member.roles.length) return member;

        const giver = await authorityOf(tx, scope, userId);
        if (member.roles.some(isOwnerRole) && !giver.isOwner) throw new DomainError('member.owner_required');
        for (const { role, limits } of given) await assertMayGrant(tx, scope, giver, { role, limits });
        if (member.roles.some(makesOwner) && !roles.some(makesOwner)) await assertAnotherOwner(tx, scope, id);

        // Roles that stay are not written again: somebody may be deleting what their limits name.
        const taken = member.roles.filter((held) => !roles.some((role) => isSame(held, role)));
        const of = { accountId, membershipId: id };
        await tx.delete(MembershipRole, { ...of, roleId: In(taken.map(({ roleId }) => roleId)) });
        await tx.insert(
          MembershipRole,
          given.map(({ roleId, limits }) => ({ ...of, roleId, limits })),
        );
        await recordEvent(tx, 'member.updated', {
          accountId,
          resourceId: id,
          metadata: {
            user_id: member.user.id,
            roles: roles.map(({ roleId, limits }) => ({ role_id: roleId, limits })),
          },
        });
        return findAccountMember(tx, scope, id);
      }),

    remove: ({ accountId }, userId, id) =>
      db.transaction({ accountId }, async (tx) => {
        const scope = { accountId };
        await lockAdministration(tx, scope);
        const { user, roles } = await findAccountMember(tx, scope, id);
        const remover = await authorityOf(tx, scope, userId);
        if (roles.some(isOwnerRole) && !remover.isOwner) throw new DomainError('member.owner_required');
        if (roles.some(makesOwner)) await assertAnotherOwner(tx, scope, id);
        await administratorInvites.withdraw(tx, scope, user.email);
        await endMembership(tx, { accountId, id, userId: user.id });
      }),
  };
}

/** What a page of members can prove: who has a second factor, and the domains of the Account's identity provider. */
interface Proofs {
  enrolled: ReadonlySet<string>;
  domains: ReadonlySet<string>;
}
const proofsOf = async (tx: EntityManager, scope: AccountScope, members: readonly Found[]): Promise<Proofs> => ({
  enrolled: await enrolledAmong(tx, members),
  domains: await adminDomainsOf(tx, scope),
});

const present = ({ id, user, createdAt }: Found, roles: RoleOfMember[], { enrolled, domains }: Proofs): Member => ({
  id,
  user,
  mfaEnrolled: enrolled.has(user.id),
  ssoAvailable: domains.has(domainOfAddress(user.email) ?? ''),
  createdAt,
  roles: roles.filter(({ membershipId }) => membershipId === id),
});

/** Returns the ids of those users who have a second factor; an Account sees this of its own administrators only. */
async function enrolledAmong(tx: EntityManager, members: readonly Found[]): Promise<ReadonlySet<string>> {
  const rows = await tx.query<{ id: string }[]>(
    'select distinct user_id as id from user_mfa_factors where user_id = any($1::uuid[])',
    [members.map(({ user }) => user.id)],
  );
  return new Set(rows.map(({ id }) => id));
}

const isOwnerRole = ({ systemKey }: MemberRole): boolean => systemKey === 'owner';
const isSame = (a: MemberRole, b: MemberRole) => a.roleId === b.roleId && sameLimits(a.limits, b.limits);
