import type { EntityManager } from 'typeorm';
import { SsoConnection } from '../../../entities/sso-connection.js';
import type { AccountScope, EnvironmentScope } from '../../platform/scope.js';
import { toALabels } from '../a-labels.js';

/*
 * Which active connection somebody signs in by. What covers an address is a domain that is verified: of the Account for its own
 * connections (for administrators, and of its Environments), of an organization for the organization's. A lapsed claim covers
 * nobody. Domains are compared whole: a claim of acme.com says nothing of eu.acme.com. All of it in a transaction of the Account
 * without an Environment, which sees the Account's own claims, or of the system.
 */

/** The domain of an address as claims have it: in A-labels and lower case. Null where it is no address. */
export function domainOfAddress(email: string): string | null {
  return email.includes('@') ? toALabels(email.slice(email.lastIndexOf('@') + 1)) : null;
}

/** SQL: an organization with all above it is active, or there is none. */
export const livingOrganization = (id: string) =>
  `not exists (select from nodes n join nodes a on a.id = any(n.path) where n.id = ${id} and a.status = 'inactive')`;

async function connectionOf(tx: EntityManager, id: string | undefined): Promise<SsoConnection | null> {
  return id === undefined ? null : tx.findOneBy(SsoConnection, { id, status: 'active' });
}

/**
 * The connection by which an Account's administrators with this address sign in: the oldest active one, where the Account
 * itself has the address's domain verified.
 */
export async function adminConnectionFor(
  tx: EntityManager,
  { accountId }: AccountScope,
  email: string,
): Promise<SsoConnection | null> {
  const [found] = await tx.query<{ id: string }[]>(
    `select c.id from sso_connections c
     where c.account_id = $1 and c.environment_id is null and c.status = 'active' and exists (
       select from sso_domains d
       where d.account_id = $1 and d.organization_id is null and d.domain = $2 and d.status = 'verified')
     order by c.created_at, c.id limit 1`,
    [accountId, domainOfAddress(email)],
  );
  return connectionOf(tx, found?.id);
}

/** The same where nobody has said which Account: one Account at most has a domain verified. In a transaction of the system. */
export async function adminConnectionByAddress(tx: EntityManager, email: string): Promise<SsoConnection | null> {
  const [holder] = await tx.query<{ accountId: string }[]>(
    `select account_id as "accountId" from sso_domains
     where domain = $1 and status = 'verified' and organization_id is null`,
    [domainOfAddress(email)],
  );
  return holder ? adminConnectionFor(tx, holder, email) : null;
}

/** The active connection of an organization of the Environment, which is active with all above it. */
export async function organizationConnection(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  organizationId: string,
): Promise<SsoConnection | null> {
  const [found] = await tx.query<{ id: string }[]>(
    `select id from sso_connections c
     where c.organization_id = $3 and c.account_id = $1 and c.environment_id = $2 and c.status = 'active'
       and ${livingOrganization('c.organization_id')}`,
    [accountId, environmentId, organizationId],
  );
  return connectionOf(tx, found?.id);
}

/**
 * The connection by which end users of an Environment with this address sign in: that of the organization which has the
 * address's domain verified, or else the Environment's oldest, where the Account has.
 */
export async function identityConnectionFor(
  tx: EntityManager,
  scope: EnvironmentScope,
  email: string,
): Promise<SsoConnection | null> {
  const { accountId, environmentId } = scope;
  const domain = domainOfAddress(email);
  const [holder] = await tx.query<{ id: string }[]>(
    `select organization_id as id from sso_domains
     where account_id = $1 and environment_id = $2 and domain = $3 and status = 'verified'`,
    [accountId, environmentId, domain],
  );
  const its = holder && (await organizationConnection(tx, scope, holder.id));
  if (its) return its;
  const [found] = await tx.query<{ id: string }[]>(
    `select c.id from sso_connections c
     where c.account_id = $1 and c.environment_id = $2 and c.organization_id is null and c.status = 'active' and exists (
       select from sso_domains d
       where d.account_id = $1 and d.organization_id is null and d.domain = $3 and d.status = 'verified')
     order by c.created_at, c.id limit 1`,
    [accountId, environmentId, domain],
  );
  return connectionOf(tx, found?.id);
}

/**
 * Whether a connection may speak for an address: its owner has the address's domain verified. Only then is somebody who is
 * known here by the address the person whom the provider names.
 */
export async function maySpeakFor(
  tx: EntityManager,
  { accountId, organizationId }: Pick<SsoConnection, 'accountId' | 'organizationId'>,
  email: string,
): Promise<boolean> {
  const rows = await tx.query<unknown[]>(
    `select from sso_domains where account_id = $1 and domain = $2 and status = 'verified'
       and case when $3::uuid is null then organization_id is null else organization_id = $3 end`,
    [accountId, domainOfAddress(email), organizationId],
  );
  return rows.length > 0;
}

/** Who has the domain of an address verified, as far as an Environment is concerned: ids of its organizations; null: the Account. */
export async function holdersOf(
  tx: EntityManager,
  { accountId, environmentId }: Pick<EnvironmentScope, 'accountId' | 'environmentId'>,
  email: string,
): Promise<(string | null)[]> {
  const rows = await tx.query<{ organizationId: string | null }[]>(
    `select organization_id as "organizationId" from sso_domains where account_id = $1 and domain = $2 and status = 'verified'
       and (environment_id is null or environment_id = $3)`,
    [accountId, domainOfAddress(email), environmentId],
  );
  return rows.map(({ organizationId }) => organizationId);
}
