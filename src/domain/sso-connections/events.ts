import type { EntityManager } from 'typeorm';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import type { EventAction } from '../events/catalogue.js';
import { type EventDetails, recordEvent } from '../events/record.js';

type ConnectionEvent = Extract<EventAction, `sso_connection.${string}`>;

/** Records what happened to a connection. Of its configuration only names of fields: no secret, no certificate. */
export async function recordConnectionEvent(
  tx: EntityManager,
  action: ConnectionEvent,
  { id, accountId, environmentId, organizationId, type, scope, name }: SsoConnection,
  { actor, ...metadata }: Record<string, unknown> & Pick<EventDetails, 'actor'> = {},
): Promise<string> {
  return recordEvent(tx, action, {
    accountId,
    environmentId,
    resourceId: id,
    resourceLabel: name,
    metadata: { type, scope, organization_id: organizationId, ...metadata },
    ...(actor && { actor }),
  });
}
