import { rowsAsOwner } from '../../../support/database.js';
import type { World } from '../world.js';
import type { Looked } from './looked.js';

/**
 * Checks that each cause has one mail. If a worker is killed between the mail server's answer and the row's update, the
 * same message is sent again, and the person's mail program shows it once.
 */
export async function messagesAreOnce({ mails, find, ledger, service, client }: World): Promise<Looked> {
  const messages = mails.messages();
  const revoked = new Set(ledger.of('invite revocation').map(({ id }) => id));
  for (const { id, email } of ledger.of('invite')) {
    const count = messages.get(email)?.size ?? 0;
    if (count > 1 || (count === 0 && !revoked.has(id))) find(`invite of ${email}: ${count} mails`);
  }
  // A request without an answer was repeated, which is another registration with its own mail.
  const asked = client.attempts.filter(({ name, status }) => name === 'register' && status !== 'ECONNREFUSED').length;
  const registrations = await rowsAsOwner(service.ownerUrl, 'select count(*)::int from pending_registrations', []);
  const made = registrations[0]?.count as number;
  if (made > asked) find(`${made} registrations were made of ${asked} requests`);
  for (const { email } of ledger.of('registration')) {
    const count = messages.get(email)?.size ?? 0;
    if (count === 0) find(`registration of ${email}: no mail`);
  }
  const sent = await rowsAsOwner(service.ownerUrl, `select count(*)::int from emails where status = 'sent'`, []);
  const repeats = mails.repeats();
  const distinct = mails.delivered.length - repeats;
  if (distinct < (sent[0]?.count as number)) find(`${sent[0]?.count} mails are noted as sent, and ${distinct} arrived`);
  return [
    ['mails', distinct],
    ['mails that came again as the same message', repeats],
  ];
}
