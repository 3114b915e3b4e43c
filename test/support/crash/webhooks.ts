import { webhookDeliveryId } from '../../../workflows/ids.js';
import { aHolder } from '../role-windows.js';
import { aSubscription, deliver, startReceiver } from '../webhooks.js';
import { outcomeOf } from './outcome.js';
import type { Begin, CrashWorld } from './world.js';

const deliveryRun =
  (
    deaths: readonly string[],
    { answers, act }: { answers: readonly number[]; act?(world: CrashWorld, id: string): Promise<unknown> },
  ): Begin =>
  async (world) => {
    const { database, sealing, query } = world;
    // By the recorded attempts: a worker that dies for another run can lose an answer.
    const answered = async (id: unknown) =>
      (await query('select 1 from webhook_attempts where delivery_id = $1 and status_code is not null', id)).length;
    const receiver = await startReceiver(async ({ headers }, _, response) => {
      const before = await answered(headers['webhook-id']).catch(() => 0);
      response.writeHead(answers[Math.min(before, answers.length - 1)] as number).end();
    });
    const { scope } = await aHolder(database);
    const webhook = await aSubscription(database, sealing, scope, { url: receiver.url('/') });
    const [id] = (await deliver(database, webhook)) as [string];
    const workflowId = webhookDeliveryId(id);
    const row = { table: 'webhook_deliveries', id, columns: 'status, ended_reason' };
    return {
      workflowId,
      deaths,
      ...(act && { act: () => act(world, id) }),
      async left() {
        const outcome = await outcomeOf(world, { workflowId, row });
        const received = receiver.at('/');
        await receiver.stop();
        // At least once, and always the same message.
        const messages = new Set(received.map(({ headers, body }) => `${headers['webhook-id'] === id} ${body}`)).size;
        return { ...outcome, messages };
      },
    };
  };

/** Cancels while it waits for its second attempt, as in the Temporal UI. */
const cancelTried = async ({ temporal, awaits, query }: CrashWorld, id: string) => {
  await awaits('the receiver has answered', async () => {
    const [row] = await query('select 1 from webhook_attempts where delivery_id = $1 and status_code is not null', id);
    return row;
  });
  await temporal.client.workflow.getHandle(webhookDeliveryId(id)).cancel();
};

export const webhookRuns = {
  'a delivery that its receiver takes at the second attempt': deliveryRun(['attemptWebhook'], {
    answers: [500, 200],
  }),
  'a delivery that an operator cancels': deliveryRun(['cancelWebhookDelivery'], { answers: [500], act: cancelTried }),
} satisfies Record<string, Begin>;
