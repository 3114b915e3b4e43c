import { type EntityManager, type FindOptionsWhere, In, IsNull, type SelectQueryBuilder } from 'typeorm';
import { Role } from '../../../entities/role.js';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoSigningKey } from '../../../entities/sso-signing-key.js';
import { lockExclusively, sharedLockSql } from '../../platform/database/advisory-locks.js';
import { within } from '../../platform/database/db.js';
import type { AccountScope, EnvironmentScope } from '../../platform/scope.js';
import type { Caller } from '../caller.js';
import { DomainError } from '../errors.js';
import { readRowCount } from '../lists/row-counts.js';
import { findOrganization } from '../organizations/find.js';
import { lockOrganization } from '../organizations/members.js';
import type { providerFields } from './provider.js';
import { type ServiceProvider, serviceProviderOf } from './service-provider.js';

/** The scope of connections: an Account's own, for its administrators, or all of an Environment. */
export type ConnectionScope = AccountScope | EnvironmentScope;
/** One connection, by its id or that of its organization. */
export type ConnectionAt = { scope: ConnectionScope; id: string } | { scope: EnvironmentScope; organizationId: string };

/** A connection with details from other rows (specification, "Organization SSO connection detail"). */
export interface ConnectionDetail {
  connection: SsoConnection;
  defaultRole: Pick<Role, 'id' | 'name'> | null;
  serviceProvider: ServiceProvider;
}

/** Queries the connections of a scope: those of Environments are not among the Account's own. */
export const connectionsOf = (tx: EntityManager, { accountId, environmentId }: ConnectionScope) =>
  tx
    .createQueryBuilder(SsoConnection, 'connection')
    .where({ accountId, environmentId: environmentId ?? IsNull() }) as SelectQueryBuilder<SsoConnection>;

/** Returns the number of connections of a scope. */
export const countConnections = (tx: EntityManager, { accountId, environmentId }: ConnectionScope) =>
  readRowCount(tx, { accountId, environmentId: environmentId ?? null }, 'sso_connections');

const whereOf = (at: ConnectionAt): FindOptionsWhere<SsoConnection> =>
  'organizationId' in at
    ? { ...within(at.scope), organizationId: at.organizationId }
    : { accountId: at.scope.accountId, environmentId: at.scope.environmentId ?? IsNull(), id: at.id };

/** @throws DomainError organization.not_found, sso_connection.not_found */
export async function findConnection(tx: EntityManager, at: ConnectionAt): Promise<SsoConnection> {
  if ('organizationId' in at) await findOrganization(tx, at.scope, at.organizationId);
  const connection = await tx.findOneBy(SsoConnection, whereOf(at));
  if (!connection) throw new DomainError('sso_connection.not_found');
  return connection;
}

/**
 * Locks and returns a connection, for the caller to change it before anybody else can.
 * @throws DomainError organization.not_found, sso_connection.not_found; organization.sso_connection_not_owned if it
 *   belongs to the developers and the caller is not an administrator of the Account
 */
export async function lockConnection(tx: EntityManager, at: ConnectionAt, caller: Caller): Promise<SsoConnection> {
  if ('organizationId' in at) await lockOrganization(tx, at.scope, at.organizationId);
  const connection = await tx.findOne(SsoConnection, { where: whereOf(at), lock: { mode: 'pessimistic_write' } });
  if (!connection) throw new DomainError('sso_connection.not_found');
  if (!connection.ownedByOrganization && !isOfTeam(caller))
    throw new DomainError('organization.sso_connection_not_owned');
  return connection;
}

const line = 'sso requests of ';

/**
 * Waits for sign-ins that are being completed by a connection, and keeps others from being completed or begun before
 * the end of the transaction. Call it before `lockConnection` and before what that locks: a sign-in locks its request
 * first, then the organization and the connection.
 */
export async function lockRequests(tx: EntityManager, at: ConnectionAt): Promise<void> {
  const connection = await tx.findOne(SsoConnection, { where: whereOf(at), select: { id: true } });
  if (connection) await lockRequestsOf(tx, at.scope, connection.id);
}

/**
 * Waits for sign-ins by a connection as `lockRequests` does, by its id. For several connections, call it in the order
 * of their ids.
 */
export async function lockRequestsOf(
  tx: EntityManager,
  { accountId }: AccountScope,
  connectionId: string,
): Promise<void> {
  await lockExclusively(tx, `${line}${connectionId}`); // the statement below would miss requests that begin after it
  await tx.query(
    `select from sso_requests where connection_id = $1 and account_id = $2 and completed_at is null order by id for update`,
    [connectionId, accountId],
  );
}

/**
 * SQL: the connection at which a request begins, locked until the end of the transaction; no row if it is being deleted
 * or given another provider. Lock it before a request of it.
 * @param its SQL for the known columns of the connection
 */
export const connectionToBeginAt = (
  its: Record<'id' | 'accountId' | (typeof providerFields)[number], string>,
): string => `
select found.id from (select ${sharedLockSql(`'${line}' || ${its.id}`)} as "isFree") line
  cross join lateral (select id from sso_connections where line."isFree" and id = ${its.id} and (account_id = ${its.accountId}) is true
    and saml_entity_id is not distinct from ${its.samlEntityId} and oidc_discovery_url is not distinct from ${its.oidcDiscoveryUrl}
    for key share) found`;

/**
 * Whether the caller is an administrator of the Account, in the Portal. Others, in the Public API, act for an
 * organization.
 */
export const isOfTeam = ({ type }: Caller): boolean => type === 'platform_admin';

export async function detailsOf(
  tx: EntityManager,
  baseUrl: string,
  connections: readonly SsoConnection[],
): Promise<ConnectionDetail[]> {
  const ids = connections.flatMap(({ defaultRoleId }) => defaultRoleId ?? []);
  const accountId = connections[0]?.accountId;
  const roles = ids.length === 0 || !accountId ? [] : await tx.findBy(Role, { accountId, id: In(ids) });
  const speakingSaml = connections.filter(({ type }) => type === 'saml').map(({ id }) => id);
  const keys =
    speakingSaml.length === 0 || !accountId
      ? []
      : await tx.find(SsoSigningKey, {
          where: { accountId, connectionId: In(speakingSaml) },
          select: { connectionId: true, certificate: true },
        });
  return connections.map((connection) => ({
    connection,
    defaultRole: roles.find(({ id }) => id === connection.defaultRoleId) ?? null,
    serviceProvider: serviceProviderOf(
      baseUrl,
      connection,
      keys.find(({ connectionId }) => connectionId === connection.id)?.certificate ?? null,
    ),
  }));
}
