import { type EntityManager, IsNull } from 'typeorm';
import { Webhook } from '../../../entities/webhook.js';

type Routed = Pick<Webhook, 'id' | 'accountId' | 'environmentId' | 'eventTypes' | 'isActive'>;

/**
 * Switches off all subscriptions of an Environment or Account that ends. No event finds them any more, and pending
 * deliveries are cancelled when they are due.
 */
export async function silenceWebhooks(
  tx: EntityManager,
  { accountId, environmentId }: Pick<Webhook, 'accountId' | 'environmentId'>,
): Promise<void> {
  await tx.query('delete from webhook_routes where account_id = $1 and scope_id = $2', [
    accountId,
    environmentId ?? accountId,
  ]);
  const theirs = { accountId, environmentId: environmentId ?? IsNull(), isActive: true };
  await tx.update(Webhook, theirs, { isActive: false });
}

/** Updates the routes by which events find a subscription; it has none while it is switched off. */
export async function writeRoutes(tx: EntityManager, webhook: Routed): Promise<void> {
  await tx.query('delete from webhook_routes where webhook_id = $1', [webhook.id]);
  if (!webhook.isActive) return;
  await tx.query(
    'insert into webhook_routes (scope_id, event_type, webhook_id, account_id) select $1, unnest($2::text[]), $3, $4',
    [webhook.environmentId ?? webhook.accountId, webhook.eventTypes, webhook.id, webhook.accountId],
  );
}
