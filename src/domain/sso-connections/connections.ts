import { type EntityManager, IsNull, Not } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { SsoConnection, type SsoConnectionStatus, type SsoType } from '../../../entities/sso-connection.js';
import { SsoLink } from '../../../entities/sso-link.js';
import { SsoRequest } from '../../../entities/sso-request.js';
import type { Clock } from '../../platform/clock.js';
import { assertStillMay } from '../../platform/context.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import type { Outbound } from '../../platform/outbound/fetch.js';
import type { Guard } from '../../platform/outbound/guard.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Assignments } from '../access/assignments/assignments.js';
import type { CachesCredentials } from '../cached-credentials.js';
import type { Caller } from '../caller.js';
import { changedFields } from '../changed-fields.js';
import { DomainError } from '../errors.js';
import { lockAccount } from '../existing-account.js';
import { assertWithinQuota } from '../limits/quota.js';
import { containing, type Page, type PageRequest, readPage } from '../lists/paging.js';
import { lockOrganization } from '../organizations/members.js';
import { assertDefaultRole } from './default-role.js';
import { recordConnectionEvent } from './events.js';
import {
  type ConnectionAt,
  type ConnectionDetail,
  type ConnectionScope,
  connectionsOf,
  countConnections,
  detailsOf,
  findConnection,
  isOfTeam,
  lockConnection,
  lockRequests,
} from './find.js';
import { type MetadataSource, settingsFromMetadata } from './metadata.js';
import { providerFields } from './provider.js';
import { sealedClientSecret } from './secrets.js';
import { assertComplete, type ConnectionSettings, emptySettings, settledSettings } from './settings.js';
import { createStatusChanges } from './status.js';

export interface SsoConnectionsDeps extends CachesCredentials {
  db: Db;
  sealing: Pick<Sealing, 'seal' | 'open'>;
  guard: Pick<Guard, 'enter'>;
  outbound: Pick<Outbound, 'ask'>;
  assignments: Pick<Assignments, 'assertMayGrant'>;
  baseUrl: string;
  now: Clock;
}

/** Where a connection is created; `organizationId` is that of the organization it will belong to. */
export type NewConnectionAt =
  | { scope: ConnectionScope; organizationId: null }
  | { scope: EnvironmentScope; organizationId: string };

export type NewConnection = Partial<ConnectionSettings> & { type: SsoType; name: string };

export type SsoConnectionSort = 'created_at' | 'name';
export interface SsoConnectionsPage extends PageRequest<SsoConnectionSort> {
  status?: SsoConnectionStatus | undefined;
  type?: SsoType | undefined;
  organizationId?: string | undefined;
}

/**
 * How many connections an Account can have for administrators, and an Environment apart from its organizations' own.
 */
export const maxConnections = 100;

const columns: Record<SsoConnectionSort, string[]> = {
  created_at: ['connection.createdAt', 'connection.id'],
  name: ['connection.name', 'connection.id'],
};

export type SsoConnections = ReturnType<typeof createSsoConnections>;

/**
 * Manages connections to customers' identity providers (contract §8), for administrators, end users and organizations.
 */
export function createSsoConnections(deps: SsoConnectionsDeps) {
  const { db, sealing, guard, outbound, assignments, baseUrl, now, ...caches } = deps;
  const one = async (tx: EntityManager, connection: SsoConnection): Promise<ConnectionDetail> =>
    (await detailsOf(tx, baseUrl, [connection]))[0] as ConnectionDetail;
  const statuses = createStatusChanges({ db, detail: one, now, ...caches });
  const judging = () => ({ guard, now: now() });

  /** @throws DomainError validation.failed, role.not_found, permission.required, role.cannot_grant */
  async function settled(
    tx: EntityManager,
    scope: ConnectionScope,
    { caller, current, wanted }: { caller: Caller; current: SsoConnection; wanted: Partial<ConnectionSettings> },
  ): Promise<Partial<SsoConnection>> {
    const { oidcClientSecret: secret, ...changes } = settledSettings(current, wanted, judging());
    const { defaultRoleId } = changes;
    // `settledSettings` refuses a default role for administrators, so the scope is that of an Environment.
    if (defaultRoleId && defaultRoleId !== current.defaultRoleId)
      await assertDefaultRole(tx, { assignments, caller }, scope as EnvironmentScope, current, defaultRoleId);
    const sealed = secret ? sealedClientSecret(sealing, current, secret) : secret;
    return { ...changes, ...(sealed !== undefined && { oidcClientSecretSealed: sealed }) };
  }

  /**
   * Changes a connection; values that it has already are no change. Another provider, by entity id or discovery URL,
   * names other people: links to the previous one's people are deleted, sign-ins under way have to start again, and an
   * OpenID provider needs a new client secret.
   * @throws DomainError as `lockConnection`; validation.failed; sso_connection.incomplete if an active connection would
   *   lack a setting; for the default role role.not_found, permission.required, role.cannot_grant
   */
  const update = (at: ConnectionAt, caller: Caller, wanted: Partial<ConnectionSettings>): Promise<ConnectionDetail> =>
    db.transaction(at.scope, async (tx) => {
      if (namesProvider(wanted)) await lockRequests(tx, at);
      const current = await lockConnection(tx, at, caller);
      const changes = await settled(tx, at.scope, { caller, current, wanted });
      const isElsewhere = providerFields.some(
        (field) => changes[field] !== undefined && current[field] !== null && changes[field] !== current[field],
      );
      if (isElsewhere && !wanted.oidcClientSecret) changes.oidcClientSecretSealed = null;
      const changed = changedFields(current, changes).map((field) => field.replace(/_sealed$/, ''));
      if (changed.length === 0) return one(tx, current);
      const connection: SsoConnection = { ...current, ...changes, updatedAt: now() };
      if (connection.status === 'active') assertComplete(connection);
      await tx.update(SsoConnection, { id: current.id }, { ...changes, updatedAt: connection.updatedAt });
      const forgotten = isElsewhere ? await forget(tx, current) : null;
      await recordConnectionEvent(tx, 'sso_connection.updated', connection, {
        changed,
        ...(forgotten !== null && { links_forgotten: forgotten }),
      });
      return one(tx, connection);
    });

  return {
    /** `q` searches the name. */
    list: (
      scope: ConnectionScope,
      { q, status, type, organizationId, ...page }: SsoConnectionsPage,
    ): Promise<Page<ConnectionDetail>> =>
      db.transaction(scope, async (tx) => {
        const query = connectionsOf(tx, scope);
        if (status) query.andWhere({ status });
        if (type) query.andWhere({ type });
        if (organizationId) query.andWhere({ organizationId });
        if (q) query.andWhere('connection.name ilike :pattern', { pattern: containing(q) });
        const isWhole = !q && !status && !type && !organizationId;
        const total = isWhole ? await countConnections(tx, scope) : undefined;
        const { rows, ...rest } = await readPage(query, page, columns[page.sortBy], total);
        return { ...rest, rows: await detailsOf(tx, baseUrl, rows) };
      }),

    /** @throws DomainError organization.not_found, sso_connection.not_found */
    get: (at: ConnectionAt): Promise<ConnectionDetail> =>
      db.transaction(at.scope, async (tx) => one(tx, await findConnection(tx, at))),

    /**
     * Creates a connection that is not active yet. If an administrator of the Account creates it for an organization,
     * it belongs to the developers.
     * @throws DomainError organization.not_found, organization.sso_connection_exists, sso_connection.limit_reached,
     *   validation.failed; for the default role role.not_found, permission.required, role.cannot_grant
     */
    create: (
      place: NewConnectionAt,
      caller: Caller,
      { type, name, ...wanted }: NewConnection,
    ): Promise<ConnectionDetail> =>
      db
        .transaction(place.scope, async (tx) => {
          const { scope, organizationId } = place;
          await lockAccount(tx, scope);
          if (organizationId === null) await roomFor(tx, scope);
          else await lockOrganization(tx, place.scope as EnvironmentScope, organizationId);
          const blank = blankConnection(place, caller, type, now());
          const settings = await settled(tx, scope, { caller, current: blank, wanted: { name, ...wanted } });
          const connection: SsoConnection = { ...blank, ...settings };
          await tx.insert(SsoConnection, connection);
          await recordConnectionEvent(tx, 'sso_connection.created', connection);
          return one(tx, connection);
        })
        .catch((error: unknown) => {
          throw violates(error, 'sso_connections_of_organization')
            ? new DomainError('organization.sso_connection_exists')
            : error;
        }),

    update,

    /**
     * Fills a SAML connection from its provider's metadata.
     * @throws DomainError as `update`; sso_connection.metadata_unreadable
     */
    async importMetadata(at: ConnectionAt, caller: Caller, source: MetadataSource): Promise<ConnectionDetail> {
      // Checks the caller's right before anything is fetched.
      const { samlSigningCert: inUse } = await db.transaction(at.scope, (tx) => lockConnection(tx, at, caller));
      const settings = await settingsFromMetadata({ outbound, guard }, source, { inUse, now: now() });
      await assertStillMay(); // the fetch takes as long as the provider's server wants
      return update(at, caller, settings);
    },

    /**
     * Deletes the links to people whom the provider has named: they are found by their addresses again, as at their
     * first sign-in. Sessions continue.
     * @returns the number of deleted links
     * @throws DomainError as `lockConnection`
     */
    forgetLinks: (at: ConnectionAt, caller: Caller): Promise<number> =>
      db.transaction(at.scope, async (tx) => {
        await lockRequests(tx, at);
        const connection = await lockConnection(tx, at, caller);
        const forgotten = await forget(tx, connection);
        await recordConnectionEvent(tx, 'sso_connection.links_forgotten', connection, { links_forgotten: forgotten });
        return forgotten;
      }),

    /** @throws DomainError as `lockConnection`; sso_connection.incomplete naming what is missing */
    activate: statuses.activate,

    /** Signs out everybody who signed in by it. @throws DomainError as `createStatusChanges` */
    disable: statuses.disable,

    /** Signs out everybody who signed in by it. @throws DomainError as `createStatusChanges` */
    remove: statuses.remove,
  };
}

function blankConnection(
  { scope, organizationId }: NewConnectionAt,
  caller: Caller,
  type: SsoType,
  at: Date,
): SsoConnection {
  const { accountId, environmentId = null } = scope;
  const { oidcClientSecret: _, ...empty } = emptySettings(type);
  return {
    id: uuidv7(),
    accountId,
    environmentId,
    organizationId,
    type,
    status: 'configuring',
    scope: organizationId ? 'organization' : environmentId ? 'identity' : 'admin',
    name: '',
    ownedByOrganization: organizationId !== null && !isOfTeam(caller),
    ...empty,
    oidcClientSecretSealed: null,
    lastLoginAt: null,
    lastLoginFailureAt: null,
    consecutiveFailures: 0,
    autoDisabledAt: null,
    samlCertificateWarnedAt: null,
    createdAt: at,
    updatedAt: at,
  };
}

const namesProvider = (wanted: Partial<ConnectionSettings>): boolean =>
  providerFields.some((field) => wanted[field] !== undefined);

/**
 * Deletes what the previous provider has said of people: its links, and requests with responses that are here or under
 * way, which would create links again.
 * @returns the number of deleted links
 */
async function forget(tx: EntityManager, { id: connectionId }: SsoConnection): Promise<number> {
  await tx.delete(SsoRequest, { connectionId, purpose: Not('test'), completedAt: IsNull() });
  const { affected } = await tx.delete(SsoLink, { connectionId });
  return affected ?? 0;
}

const roomFor = (tx: EntityManager, scope: ConnectionScope) =>
  assertWithinQuota(tx, {
    of: `sso connections of ${scope.environmentId ?? scope.accountId}`,
    max: maxConnections,
    count: () => connectionsOf(tx, scope).andWhere('connection.organizationId is null').getCount(),
    code: 'sso_connection.limit_reached',
  });
