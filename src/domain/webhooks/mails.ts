import type { EntityManager } from 'typeorm';
import { Account } from '../../../entities/account.js';
import { User } from '../../../entities/user.js';
import { Webhook } from '../../../entities/webhook.js';
import { managersAt } from '../capabilities/managers.js';
import { inWords } from '../emails/in-words.js';
import { defaultLocaleOf } from '../emails/locale.js';
import { queueEmail } from '../emails/queue.js';
import type { EmailSubjects } from '../emails/subjects.js';

/** Has everybody who may manage a subscription told by mail, after the commit, that nothing reached it for days. */
export async function tellAdministrators(tx: EntityManager, webhook: Webhook, now: Date): Promise<void> {
  const { id, accountId, environmentId } = webhook;
  const locale = await defaultLocaleOf(tx, { accountId, environmentId });
  for (const recipientId of await managersOf(tx, webhook)) {
    const cause = `webhook/${id}/disabled/${now.getTime()}/${recipientId}`;
    // Not as a mail of the Environment: its brand is for end users.
    await queueEmail(tx, { template: 'webhook-disabled', locale, subjectId: id, recipientId, cause, accountId }, now);
  }
}

/** What the mail says. Null once it is on again, or gone, or its reader has nothing to do with it any more. */
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
          since_text: inWords(webhook.failingSince, locale),
        },
      };
    },
  }) satisfies Partial<EmailSubjects>;

/** Ids of the users who may manage a subscription, where it is. */
const managersOf = (tx: EntityManager, webhook: Webhook): Promise<string[]> =>
  managersAt(tx, webhook, webhook.environmentId ? 'env_webhooks.manage' : 'account_webhooks.manage');
