import type { Db } from '../../platform/database/db.js';
import { recordEvent } from '../events/record.js';
import type { AuthenticatedDirectory } from './authenticate.js';

/** A directory's attempt at something that is not its own to change is an audit row (contract §10). */
export const createScimDenials =
  ({ db }: { db: Db }) =>
  async ({ scope, tokenId, tokenName }: AuthenticatedDirectory, operation: string): Promise<void> => {
    await db.transaction(scope, (tx) =>
      recordEvent(tx, 'auth.access_denied', {
        ...scope,
        resourceId: operation,
        outcome: 'denied',
        actor: { type: 'scim_token', id: tokenId, label: tokenName },
      }),
    );
  };

export type ScimDenials = ReturnType<typeof createScimDenials>;
