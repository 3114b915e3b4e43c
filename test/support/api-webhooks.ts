import { v7 as uuidv7 } from 'uuid';
import { Webhook } from '../../entities/webhook.js';
import { recordEvent } from '../../src/domain/events/record.js';
import { writeRoutes } from '../../src/domain/webhooks/routes.js';
import type { TestAccount, TestApi } from './api.js';
import { rowsOf } from './rows.js';
import { webhookRow } from './webhooks.js';

/** Inserts a subscription of the Environment or of the Account; nobody knows its secret. */
export async function subscribe(
  { database, clock }: TestApi,
  { scope }: Pick<TestAccount, 'scope'>,
  eventTypes: string[],
  { level = 'environment', isActive = true }: { level?: 'account' | 'environment'; isActive?: boolean } = {},
): Promise<string> {
  const of = level === 'environment' ? scope : { accountId: scope.accountId };
  const webhook = webhookRow(of, { eventTypes, isActive, createdAt: clock.now });
  await database.db.transaction('system', async (tx) => {
    await tx.insert(Webhook, webhook);
    await writeRoutes(tx, webhook);
  });
  return webhook.id;
}

/** Records an event of the Environment about a role that does not exist. @returns its id */
export const happen = (
  { database }: TestApi,
  { scope }: Pick<TestAccount, 'scope'>,
  action: Parameters<typeof recordEvent>[1] = 'role.created',
): Promise<string> =>
  database.db.transaction(scope, (tx) =>
    recordEvent(tx, action, {
      ...scope,
      resourceId: uuidv7(),
      metadata: action === 'role.created' ? { permission_keys: ['a.b'] } : {},
    }),
  );

export interface DeliveryRow {
  id: string;
  webhook_id: string;
  event_id: string;
  event_type: string;
  body: string;
  status: string;
  ended_reason: string | null;
}
export const deliveriesOf = (api: TestApi, { scope }: Pick<TestAccount, 'scope'>): Promise<DeliveryRow[]> =>
  rowsOf<DeliveryRow>(
    api,
    `select * from webhook_deliveries where account_id = '${scope.accountId}' order by created_at, id`,
  );
