import type { EntityManager } from 'typeorm';
import { Account } from '../../../entities/account.js';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { User } from '../../../entities/user.js';
import { applicationOf } from '../application-of.js';
import { managersAt } from '../capabilities/managers.js';
import { formatDateTime } from '../emails/format-date-time.js';
import { defaultLocaleOf } from '../emails/locale.js';
import { queueEmail } from '../emails/queue.js';
import type { EmailSubjects } from '../emails/subjects.js';
import { lastEndOf, warnings } from './certificates.js';

/** Queues mails, sent after the commit, to all who may manage a connection: it has switched itself off. */
export async function mailAutoDisabled(tx: EntityManager, connection: SsoConnection, now: Date): Promise<void> {
  await mailAdministrators(tx, connection, 'sso-connection-auto-disabled', now);
}

/** Queues mails to the same people: the certificates of its provider expire. */
export async function mailCertificateExpiring(tx: EntityManager, connection: SsoConnection, now: Date): Promise<void> {
  await mailAdministrators(tx, connection, 'sso-certificate-expiring', now);
}

async function mailAdministrators(
  tx: EntityManager,
  connection: SsoConnection,
  template: 'sso-connection-auto-disabled' | 'sso-certificate-expiring',
  now: Date,
) {
  const { id, accountId, environmentId } = connection;
  const locale = await defaultLocaleOf(tx, { accountId, environmentId });
  for (const recipientId of await managersOf(tx, connection)) {
    const cause = `sso-connection/${id}/${causes[template]}/${now.getTime()}/${recipientId}`;
    // Not a mail of the Environment, whose brand is for end users.
    await queueEmail(tx, { template, locale, subjectId: id, recipientId, cause, accountId }, now);
  }
}
const causes = { 'sso-connection-auto-disabled': 'auto-disabled', 'sso-certificate-expiring': 'certificate' };

/**
 * The contents of the mails. Null if the reason does not hold any more, or the reader may not manage the connection.
 */
export const connectionMails = () =>
  ({
    'sso-connection-auto-disabled': async (tx, id, locale, recipientId) => {
      const connection = await tx.findOneBy(SsoConnection, { id, status: 'auto_disabled' });
      const reader = connection?.autoDisabledAt && (await readerOf(tx, connection, recipientId));
      if (!reader) return null;
      const since_text = formatDateTime(connection.autoDisabledAt as Date, locale);
      return { to: reader.to, values: { ...reader.values, since_text } };
    },
    'sso-certificate-expiring': async (tx, id, locale, recipientId) => {
      const connection = await tx.findOneBy(SsoConnection, { id, status: 'active' });
      const end = lastEndOf(connection?.samlSigningCert ?? '');
      const warnedAt = connection?.samlCertificateWarnedAt;
      // Somebody may have set a new certificate meanwhile.
      if (!end || !warnedAt || warnedAt.getTime() < end.getTime() - warnings[0]) return null;
      const reader = await readerOf(tx, connection, recipientId);
      return reader && { to: reader.to, values: { ...reader.values, until_text: formatDateTime(end, locale) } };
    },
  }) satisfies Partial<EmailSubjects>;

async function readerOf(tx: EntityManager, connection: SsoConnection, recipientId: string | null) {
  if (!recipientId || !(await managersOf(tx, connection)).includes(recipientId)) return null;
  const user = await tx.findOneBy(User, { id: recipientId });
  if (!user) return null;
  const account = await tx.findOneByOrFail(Account, { id: connection.accountId });
  return {
    to: user.email,
    values: { first_name: user.firstName, account_name: account.name, connection: connection.name },
  };
}

async function managersOf(tx: EntityManager, { accountId, environmentId }: SsoConnection): Promise<string[]> {
  const applicationId = await applicationOf(tx, environmentId);
  return managersAt(tx, { accountId, applicationId, environmentId }, 'sso.manage');
}
