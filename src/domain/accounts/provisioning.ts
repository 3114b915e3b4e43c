import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { Account } from '../../../entities/account.js';
import { AdministratorRole, type AdministratorRoleKey } from '../../../entities/administrator-role.js';
import { Application } from '../../../entities/application.js';
import { Counter } from '../../../entities/counter.js';
import { Environment, type EnvironmentType } from '../../../entities/environment.js';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { Membership } from '../../../entities/membership.js';
import { MembershipRole } from '../../../entities/membership-role.js';
import { Subscription } from '../../../entities/subscription.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events.js';
import { builtInRoles } from './administrator-roles.js';
import { environmentDefaults } from './environment-defaults.js';
import { slugFrom, withSuffix } from './slugs.js';

export interface ProvisionAccount {
  /** Becomes the Account's first Owner. */
  userId: string;
  accountName: string;
  applicationName: string;
  /** Without one, the name gives it, with an ending where that is taken. */
  accountSlug?: string;
  now: Date;
}

export interface ProvisionedAccount {
  account: Account;
  application: Application;
  environments: Record<EnvironmentType, Environment>;
}

/**
 * Creates an Account with its Free subscription, built-in roles, first Owner, first Application and that one's two
 * Environments (spec, `POST /v1/auth/accounts`), in the caller's transaction, whose scope has to be `system`.
 * @throws DomainError `account.slug_taken` for a slug that was asked for
 */
export async function provisionAccount(tx: EntityManager, input: ProvisionAccount): Promise<ProvisionedAccount> {
  const { userId, now } = input;
  const account = await insertAccount(tx, input);
  const accountId = account.id;
  await recordEvent(tx, 'account.created', { accountId, resourceId: accountId });
  await tx.insert(Subscription, { id: uuidv7(), accountId, plan: 'free', status: 'active', createdAt: now });
  await addOwner(tx, { accountId, userId, now });

  const application: Application = {
    id: uuidv7(),
    accountId,
    name: input.applicationName,
    slug: slugFrom(input.applicationName, 'application'),
    createdAt: now,
    updatedAt: now,
  };
  await tx.insert(Application, application);
  await recordEvent(tx, 'application.created', {
    accountId,
    applicationId: application.id,
    resourceId: application.id,
  });
  const environments = {
    development: await addEnvironment(tx, application, { name: 'Development', type: 'development', now }),
    production: await addEnvironment(tx, application, { name: 'Production', type: 'production', now }),
  };
  return { account, application, environments };
}

async function insertAccount(tx: EntityManager, { accountName, accountSlug, now }: ProvisionAccount): Promise<Account> {
  const wanted = accountSlug ?? slugFrom(accountName, 'account');
  const account = { id: uuidv7(), name: accountName, slug: wanted, createdAt: now, updatedAt: now };
  for (;;) {
    // A clash must not abort the transaction, as the unique index's error would.
    const inserted = await tx.query(
      `insert into accounts (id, name, slug, created_at, updated_at) values ($1, $2, $3, $4, $4) on conflict (slug) do nothing returning id`,
      [account.id, account.name, account.slug, now],
    );
    if (inserted.length > 0) return account;
    if (accountSlug !== undefined) throw new DomainError('account.slug_taken');
    account.slug = withSuffix(wanted);
  }
}

async function addOwner(
  tx: EntityManager,
  { accountId, userId, now }: { accountId: string; userId: string; now: Date },
) {
  const roles = (Object.keys(builtInRoles) as AdministratorRoleKey[]).map((systemKey) => ({
    id: uuidv7(),
    accountId,
    name: builtInRoles[systemKey].name,
    systemKey,
    capabilities: [], // what built-in roles may do is code
    createdAt: now,
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

async function addEnvironment(
  tx: EntityManager,
  { id: applicationId, accountId }: Application,
  { name, type, now }: Pick<Environment, 'name' | 'type'> & { now: Date },
): Promise<Environment> {
  const environment: Environment = {
    id: uuidv7(),
    accountId,
    applicationId,
    name,
    slug: type,
    type,
    createdAt: now,
    updatedAt: now,
  };
  await tx.insert(Environment, environment);
  const scope = { accountId, environmentId: environment.id };
  await tx.insert(EnvironmentSettings, { ...environmentDefaults(), ...scope, updatedAt: now });
  await tx.insert(Counter, { ...scope, name: 'identities', value: '0' });
  await recordEvent(tx, 'environment.created', {
    ...scope,
    applicationId,
    resourceId: environment.id,
    metadata: { type },
  });
  return environment;
}
