import type { EntityManager } from 'typeorm';
import { Account } from '../../../entities/account.js';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { User } from '../../../entities/user.js';
import { managersAt } from '../capabilities/managers.js';
import { inWords } from '../emails/in-words.js';
import { localeOf } from '../emails/locale.js';
import { queueEmail } from '../emails/queue.js';
import type { EmailSubjects } from '../emails/subjects.js';
import { applicationOf } from './events.js';

/** Has everybody who may manage a connection told by mail, after the commit, that it has switched itself off. */
export async function tellAutoDisabled(tx: EntityManager, connection: SsoConnection, now: Date): Promise<void> {
  const { id, accountId, environmentId } = connection;
  const locale = await localeOf(tx, { accountId, environmentId });
  for (const recipientId of await managersOf(tx, connection)) {
    const cause = `sso-connection/${id}/auto-disabled/${now.getTime()}/${recipientId}`;
    const mail = { template: 'sso-connection-auto-disabled', locale, subjectId: id, recipientId, cause } as const;
    // Not as a mail of the Environment: its brand is for end users.
    await queueEmail(tx, { ...mail, accountId }, now);
  }
}

/** What the mail says. Null once it is active again, or gone, or its reader has nothing to do with it any more. */
export const connectionMails = () =>
  ({
    'sso-connection-auto-disabled': async (tx, id, locale, recipientId) => {
      const connection = await tx.findOneBy(SsoConnection, { id, status: 'auto_disabled' });
      if (!connection?.autoDisabledAt || !recipientId) return null;
      const isManager = (await managersOf(tx, connection)).includes(recipientId);
      const user = isManager && (await tx.findOneBy(User, { id: recipientId }));
      if (!user) return null;
      const account = await tx.findOneByOrFail(Account, { id: connection.accountId });
      return {
        to: user.email,
        values: {
          first_name: user.firstName,
          account_name: account.name,
          connection: connection.name,
          since_text: inWords(connection.autoDisabledAt, locale),
        },
      };
    },
  }) satisfies Partial<EmailSubjects>;

async function managersOf(tx: EntityManager, { accountId, environmentId }: SsoConnection): Promise<string[]> {
  const applicationId = await applicationOf(tx, environmentId);
  return managersAt(tx, { accountId, applicationId, environmentId }, 'sso.manage');
}
