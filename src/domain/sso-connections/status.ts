import type { EntityManager } from 'typeorm';
import { SsoConnection } from '../../../entities/sso-connection.js';
import type { Clock } from '../../platform/clock.js';
import type { Db, Scope } from '../../platform/database/db.js';
import type { Caller } from '../caller.js';
import { DomainError } from '../errors.js';
import { endAllThrough, removeConnection } from './ending.js';
import { recordConnectionEvent } from './events.js';
import { type ConnectionAt, type ConnectionDetail, lockConnection, lockRequests } from './find.js';
import { assertComplete } from './settings.js';

/**
 * `configuring → active ⇄ disabled`, and what follows from it. With a connection that is disabled or deleted go the sessions
 * that began by it, or went on by it for a while, and what applications were given in them: whoever disables one no longer trusts
 * what it said.
 */
export function createStatusChanges({
  db,
  detail,
  now,
}: {
  db: Db;
  detail(tx: EntityManager, connection: SsoConnection): Promise<ConnectionDetail>;
  now: Clock;
}) {
  const change = <T>(
    at: ConnectionAt,
    caller: Caller,
    work: (tx: EntityManager, connection: SsoConnection) => Promise<T>,
  ): Promise<T> =>
    db.transaction(scopeToEnd(at), async (tx) => {
      await lockRequests(tx, at);
      // No organization's connection is the default; its policy is changed under the organization's lock first, then this one.
      if (at.scope.environmentId && !('organizationId' in at)) await lockSettings(tx, at.scope.environmentId);
      return work(tx, await lockConnection(tx, at, caller));
    });

  return {
    /** What is active already stays so. @throws DomainError as `lockConnection`; sso_connection.incomplete */
    activate: (at: ConnectionAt, caller: Caller): Promise<ConnectionDetail> =>
      change(at, caller, async (tx, connection) => {
        if (connection.status === 'active') return detail(tx, connection);
        assertComplete(connection);
        const activated = { status: 'active', consecutiveFailures: 0, autoDisabledAt: null, updatedAt: now() } as const;
        await tx.update(SsoConnection, { id: connection.id }, activated);
        const metadata = { previous_status: connection.status };
        await recordConnectionEvent(tx, 'sso_connection.activated', connection, metadata);
        return detail(tx, { ...connection, ...activated });
      }),

    /** What is disabled already stays so. @throws DomainError as `lockConnection`; sso_connection.not_active */
    disable: (at: ConnectionAt, caller: Caller): Promise<ConnectionDetail> =>
      change(at, caller, async (tx, connection) => {
        const { id, status } = connection;
        if (status === 'disabled') return detail(tx, connection);
        if (status === 'configuring') throw new DomainError('sso_connection.not_active');
        const disabled = { status: 'disabled', updatedAt: now() } as const;
        await tx.update(SsoConnection, { id }, disabled);
        await recordConnectionEvent(tx, 'sso_connection.disabled', connection, { previous_status: status });
        await endAllThrough(tx, connection, 'sso_connection_disabled', now());
        return detail(tx, { ...connection, ...disabled });
      }),

    /** @throws DomainError as `lockConnection` */
    remove: (at: ConnectionAt, caller: Caller): Promise<void> =>
      change(at, caller, (tx, connection) => removeConnection(tx, connection, now())),
  };
}

/** Sessions of administrators are seen by the system alone; the connection is found within its Account all the same. */
const scopeToEnd = ({ scope }: ConnectionAt): Scope => (scope.environmentId === undefined ? 'system' : scope);

/** Before the connection, as whoever makes one the default takes them. */
async function lockSettings(tx: EntityManager, environmentId: string): Promise<void> {
  await tx.query('select from environment_settings where environment_id = $1 for no key update', [environmentId]);
}
