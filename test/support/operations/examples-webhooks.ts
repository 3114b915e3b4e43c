import type { Example, Given } from './example.js';

/** Returns the examples for webhooks of an Environment, or of the Account. */
function of(prefix: '' | 'Account'): Record<string, Example> {
  const [webhook, delivery] = prefix
    ? (['accountWebhook', 'accountWebhookDelivery'] as const)
    : (['webhook', 'webhookDelivery'] as const);
  const ofOne =
    (body?: object): Example =>
    async ({ id }) => ({ path: { id: await id(webhook) }, ...(body && { body }) });
  const ofDelivery = async ({ id }: Given) => {
    const webhookId = await id(webhook);
    return { path: { id: webhookId, delivery_id: await id(delivery, webhookId) } };
  };
  return {
    [`create${prefix}Webhook`]: ({ unique }) => ({
      body: { url: `https://receiver.example/${unique}`, event_types: ['permission.deleted'], description: 'A test' },
    }),
    [`get${prefix}Webhook`]: ofOne(),
    [`update${prefix}Webhook`]: ofOne({ description: 'Changed' }),
    [`delete${prefix}Webhook`]: ofOne(),
    [`rotate${prefix}WebhookSecret`]: ofOne(),
    [`test${prefix}Webhook`]: ofOne(),
    [`list${prefix}WebhookDeliveries`]: ofOne(),
    [`get${prefix}WebhookDelivery`]: ofDelivery,
    [`retry${prefix}WebhookDelivery`]: ofDelivery,
  };
}

export const webhookExamples: Record<string, Example> = { ...of(''), ...of('Account') };
