import type { EntityManager } from 'typeorm';
import { SsoConnection } from '../../../entities/sso-connection.js';
import type { AccountScope, EnvironmentScope } from '../../platform/scope.js';
import { toALabels } from '../addresses/a-labels.js';

/*
 * Finds the active connection by which somebody signs in. An address is covered by a verified domain: one of the
 * Account for the Account's own connections (for administrators, and of its Environments), one of an organization for
 * the organization's. A lapsed claim covers nobody. Domains are compared whole: a claim of acme.com does not cover
 * eu.acme.com. All functions need a transaction of the Account without an Environment, which sees the Account's own
 * claims, or one of the system.
 */

/** Returns the domain of an address in the form of claims, in A-labels and lower case; null if it is not an address. */
export function domainOfAddress(email: string): string | null {
  return email.includes('@') ? toALabels(email.slice(email.lastIndexOf('@') + 1)) : null;
}

/** SQL: whether an organization and all nodes above it are active; also true without an organization. */
export const livingOrganization = (id: string) =>
  `not exists (select from nodes n join nodes a on a.id = any(n.path) where n.id = ${id} and a.status = 'inactive')`;

async function connectionOf(tx: EntityManager, id: string | undefined): Promise<SsoConnection | null> {
  return id === undefined ? null : tx.findOneBy(SsoConnection, { id, status: 'active' });
}

/**
 * Returns the connection by which an Account's administrators with this address sign in: the oldest active one, if the
 * Account itself has verified the address's domain.
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

/**
 * Returns the domains of addresses with which an Account's administrators can sign in by its own connections: those that
 * it has verified, or none without an active connection.
 */
export async function adminDomainsOf(tx: EntityManager, { accountId }: AccountScope): Promise<ReadonlySet<string>> {
  const rows = await tx.query<{ domain: string }[]>(
    `select domain from sso_domains where account_id = $1 and organization_id is null and status = 'verified'
       and exists (select from sso_connections where account_id = $1 and environment_id is null and status = 'active')`,
    [accountId],
  );
  return new Set(rows.map(({ domain }) => domain));
}

/**
 * Returns the connection of `adminConnectionFor` for an unknown Account: at most one Account has a domain verified. In a transaction of the system.
 */
export async function adminConnectionByAddress(tx: EntityManager, email: string): Promise<SsoConnection | null> {
  const [holder] = await tx.query<{ accountId: string }[]>(
    `select account_id as "accountId" from sso_domains
     where domain = $1 and status = 'verified' and organization_id is null`,
    [domainOfAddress(email)],
  );
  return holder ? adminConnectionFor(tx, holder, email) : null;
}

/**
 * Returns the active connection of an organization of the Environment, if the organization and all above it are active.
 */
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
 * Returns the connection by which end users of an Environment with this address sign in: that of the organization that
 * has verified the address's domain, or else the Environment's oldest active one, if the Account has verified it.
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
 * Whether a connection may speak for an address: its owner has verified the address's domain. Only then does the
 * provider's user with this address count as the person who is known here by it.
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

/**
 * Returns who has verified the domain of an address, as far as an Environment is concerned: the ids of its
 * organizations, and null for the Account.
 */
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
