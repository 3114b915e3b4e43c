import type { EntityManager } from 'typeorm';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { recordEvent } from '../events.js';

/** Records that an end user was not let in by what a connection's provider has answered. @returns the event's id */
export const recordRefusal = (
  tx: EntityManager,
  { id, accountId, environmentId }: Pick<SsoConnection, 'id' | 'accountId' | 'environmentId'>,
  reason: string,
): Promise<string> =>
  recordEvent(tx, 'auth.identity_sign_in_failed', {
    accountId,
    environmentId,
    resourceId: null,
    outcome: 'failure',
    metadata: { method: 'sso', connection_id: id, reason },
  });
