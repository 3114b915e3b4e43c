import type { EntityManager } from 'typeorm';
import { Account } from '../../../entities/account.js';
import { User } from '../../../entities/user.js';
import { Webhook } from '../../../entities/webhook.js';
import { managersAt } from '../capabilities/managers.js';
import { formatDateTime } from '../emails/format-date-time.js';
import { defaultLocaleOf } from '../emails/locale.js';
import { queueEmail } from '../emails/queue.js';
import type { EmailSubjects } from '../emails/subjects.js';

/**
 * Queues mails, sent after the commit, to all who may manage a subscription: nothing has reached its receiver for days.
 */
export async function mailAdministrators(tx: EntityManager, webhook: Webhook, now: Date): Promise<void> {
  const { id, accountId, environmentId } = webhook;
  const locale = await defaultLocaleOf(tx, { accountId, environmentId });
  for (const recipientId of await managersOf(tx, webhook)) {
    const cause = `webhook/${id}/disabled/${now.getTime()}/${recipientId}`;
    // Not a mail of the Environment, whose brand is for end users.
    await queueEmail(tx, { template: 'webhook-disabled', locale, subjectId: id, recipientId, cause, accountId }, now);
  }
}

/**
 * The content of the mail. Null if the subscription is on again or deleted, or its reader may not manage it any more.
 */
export const webhookMails = () =>
  ({
    'webhook-disabled': async (tx, id, locale, recipientId) => {
      const webhook = await tx.findOneBy(Webhook, { id, disabledReason: 'failing' });
      if (!webhook?.failingSince || !recipientId) return null;
      const isManager = (await managersOf(tx, webhook)).includes(recipientId);
      const user = isManager && (await tx.findOneBy(User, { id: recipientId }));
      if (!user) return null;
      const account = await tx.findOneByOrFail(Account, { id: webhook.accountId });
      return {
        to: user.email,
        values: {
          first_name: user.firstName,
          account_name: account.name,
          receiver: new URL(webhook.url).host,
          since_text: formatDateTime(webhook.failingSince, locale),
        },
      };
    },
  }) satisfies Partial<EmailSubjects>;

/** Returns the ids of the users who may manage a subscription in its Environment or Account. */
const managersOf = (tx: EntityManager, webhook: Webhook): Promise<string[]> =>
  managersAt(tx, webhook, webhook.environmentId ? 'env_webhooks.manage' : 'account_webhooks.manage');
