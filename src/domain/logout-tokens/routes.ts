import type { EntityManager } from 'typeorm';
import type { OAuthClient } from '../../../entities/oauth-client.js';
import type { EventAction } from '../events/catalogue.js';

/** The events that name ended sessions: in `session_id`, or in `session_ids`. */
export const sessionEndings = ['identity.signed_out', 'identity.sessions_revoked'] as const satisfies EventAction[];

type Routed = Pick<OAuthClient, 'id' | 'accountId' | 'environmentId' | 'backchannelLogoutUri'>;

/**
 * Updates the routes by which these events enter the queue of events that somebody wants; a client without an address
 * for logout tokens has none. Its routes are deleted with it.
 */
export async function writeLogoutRoutes(tx: EntityManager, client: Routed): Promise<void> {
  const { id, accountId, environmentId, backchannelLogoutUri } = client;
  if (backchannelLogoutUri === null)
    return void (await tx.query('delete from webhook_routes where webhook_id = $1 and account_id = $2', [
      id,
      accountId,
    ]));
  await tx.query(
    `insert into webhook_routes (scope_id, event_type, webhook_id, account_id) select $1, unnest($2::text[]), $3, $4
     on conflict do nothing`,
    [environmentId, sessionEndings, id, accountId],
  );
}
