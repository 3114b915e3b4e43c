import { randomBytes } from 'node:crypto';

/** A new signing secret as receivers get it: `whsec_` and 32 random bytes in base64 (Standard Webhooks). */
export const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** What a subscription's secrets, the new and the previous one, are sealed with. */
export const webhookSecretContext = (webhookId: string) => `webhooks.secret/${webhookId}`;
