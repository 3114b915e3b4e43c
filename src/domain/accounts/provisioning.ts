import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { Account } from '../../../entities/account.js';
import { AdministratorRole, type AdministratorRoleKey } from '../../../entities/administrator-role.js';
import { Membership } from '../../../entities/membership.js';
import { MembershipRole } from '../../../entities/membership-role.js';
import { Subscription } from '../../../entities/subscription.js';
import { type AddedApplication, addApplication } from '../applications/add.js';
import { builtInRoles } from '../capabilities/administrator-roles.js';
import { recordEvent } from '../events/record.js';
import { underFreeSlug } from '../slugs.js';

export interface ProvisionAccount {
  /** Becomes the Account's first Owner. */
  userId: string;
  accountName: string;
  applicationName: string;
  /** If missing, it is derived from the name, with a suffix if that is taken. */
  accountSlug?: string;
  now: Date;
}

export interface ProvisionedAccount extends AddedApplication {
  account: Account;
}

/**
 * Creates an Account with its Free subscription, built-in roles, first Owner, first Application and the Application's
 * two Environments (spec, `POST /v1/auth/accounts`), in the caller's transaction, whose scope has to be `system`.
 * @throws DomainError account.slug_taken for a requested slug
 */
export async function provisionAccount(tx: EntityManager, input: ProvisionAccount): Promise<ProvisionedAccount> {
  const { userId, now } = input;
  const account = await insertAccount(tx, input);
  const accountId = account.id;
  await recordEvent(tx, 'account.created', { accountId, resourceId: accountId, resourceLabel: account.name });
  await tx.insert(Subscription, { id: uuidv7(), accountId, plan: 'free', status: 'active', createdAt: now });
  await addOwner(tx, { accountId, userId, now });

  const added = await addApplication(tx, { accountId, name: input.applicationName, now });
  return { account, ...added };
}

const insertAccount = (
  tx: EntityManager,
  { accountName: name, accountSlug, now }: ProvisionAccount,
): Promise<Account> =>
  underFreeSlug(
    { name, slug: accountSlug },
    {
      fallback: 'account',
      taken: 'account.slug_taken',
      async insert(slug) {
        const id = uuidv7();
        // A taken slug must not abort the transaction, as the error of the unique index would.
        const inserted = await tx.query(
          `insert into accounts (id, name, slug, created_at, updated_at) values ($1, $2, $3, $4, $4) on conflict (slug) do nothing returning id`,
          [id, name, slug, now],
        );
        return (
          inserted.length > 0 && {
            id,
            name,
            slug,
            requireMfa: false,
            requireSso: false,
            closedAt: null,
            createdAt: now,
            updatedAt: now,
          }
        );
      },
    },
  );

async function addOwner(
  tx: EntityManager,
  { accountId, userId, now }: { accountId: string; userId: string; now: Date },
) {
  const roles = (Object.keys(builtInRoles) as AdministratorRoleKey[]).map((systemKey) => ({
    id: uuidv7(),
    accountId,
    name: builtInRoles[systemKey].name,
    systemKey,
    capabilities: [], // those of built-in roles are defined in code
    createdAt: now,
    updatedAt: now,
  }));
  await tx.insert(AdministratorRole, roles);
  const membership: Membership = { id: uuidv7(), accountId, userId, createdAt: now };
  await tx.insert(Membership, membership);
  const owner = roles.find(({ systemKey }) => systemKey === 'owner')!;
  await tx.insert(MembershipRole, { membershipId: membership.id, roleId: owner.id, accountId });
  await recordEvent(tx, 'member.added', {
    accountId,
    resourceId: membership.id,
    metadata: { user_id: userId, role_ids: [owner.id] },
  });
}
