import type { EntityManager } from 'typeorm';
import { type EventDetails, recordEvent } from '../events/record.js';

interface Refused extends Pick<EventDetails, 'accountId' | 'environmentId' | 'applicationId'> {
  connectionId: string;
  reason: string;
  /** `failure` for a response that is refused; `denied` for a person who is. */
  outcome: 'failure' | 'denied';
}

/** Records that an end user was refused after the response of a connection's provider. @returns the event's id */
export const recordSsoRefusal = (
  tx: EntityManager,
  { accountId, environmentId, applicationId, connectionId, reason, outcome }: Refused,
): Promise<string> =>
  recordEvent(tx, 'auth.identity_sign_in_failed', {
    accountId,
    environmentId,
    applicationId,
    resourceId: null,
    outcome,
    metadata: { method: 'sso', connection_id: connectionId, reason },
  });
