import type { EntityManager } from 'typeorm';
import type { EnvironmentScope } from '../../platform/scope.js';
import { recordEvent } from '../events/record.js';

/**
 * Records for webhooks that a person signed out: an application with a session of its own ends it by the `sid` of its
 * ID token.
 */
export const recordSignedOut = (
  tx: EntityManager,
  { accountId, environmentId }: Pick<EnvironmentScope, 'accountId' | 'environmentId'>,
  identityId: string,
  sessionId: string,
): Promise<string> =>
  recordEvent(tx, 'identity.signed_out', {
    accountId,
    environmentId,
    resourceId: identityId,
    actor: { type: 'identity', id: identityId },
    metadata: { session_id: sessionId },
  });
