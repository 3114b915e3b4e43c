import { rowsAsOwner } from '../../../support/database.js';
import type { World } from '../world.js';
import type { Looked } from './looked.js';

/**
 * One mail for each cause. A mail whose worker is killed between the mail server's word and the row's comes again as the same
 * message, which the person's mail program shows once.
 */
export async function messagesAreOnce({ mails, find, ledger, service, client }: World): Promise<Looked> {
  const messages = mails.messages();
  const revoked = new Set(ledger.of('invite revocation').map(({ id }) => id));
  for (const { id, email } of ledger.of('invite')) {
    const count = messages.get(email)?.size ?? 0;
    if (count > 1 || (count === 0 && !revoked.has(id))) find(`invite of ${email}: ${count} mails`);
  }
  // Who was not answered asked again, which is another registration with a mail of its own.
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
