import { randomBytes } from 'node:crypto';

/** Returns a new signing secret as receivers get it: `whsec_` and 32 random bytes in base64 (Standard Webhooks). */
export const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** The context in which a subscription's secrets, current and previous, are sealed. */
export const webhookSecretContext = (webhookId: string) => `webhooks.secret/${webhookId}`;
