import { setTimeout as sleep } from 'node:timers/promises';
import { patience } from './patience.js';

export interface ReceivedMail {
  id: string;
  subject: string;
  text: string;
  html: string;
  to: { address: string; name: string }[];
}

/**
 * Waits for the newest mail to `address`.
 * @param subject distinguishes several mails to one address
 * @throws Error that lists the mails that did arrive
 */
export async function waitForMail(
  inboxUrl: string,
  address: string,
  subject = /(?:)/,
  { timeoutMs = patience }: { timeoutMs?: number } = {},
): Promise<ReceivedMail> {
  for (const end = Date.now() + timeoutMs; ; ) {
    const mails = await mailsTo(inboxUrl, address);
    const found = mails.findLast((mail) => subject.test(mail.subject));
    if (found) return found;
    if (Date.now() > end) {
      const subjects = mails.map((mail) => mail.subject).join(', ') || 'none';
      throw new Error(`No mail to ${address} with the subject ${subject} after ${timeoutMs} ms; arrived: ${subjects}`);
    }
    await sleep(100);
  }
}

/** Returns all mails to `address`, oldest first. */
export async function mailsTo(inboxUrl: string, address: string): Promise<ReceivedMail[]> {
  const response = await fetch(`${inboxUrl}/email`);
  if (!response.ok) throw new Error(`The inbox answers ${response.status}`);
  const mails = (await response.json()) as ReceivedMail[];
  return mails.filter(({ to }) => to.some((one) => one.address.toLowerCase() === address.toLowerCase()));
}

/** Returns the first link in a mail's text part that has a line to itself. */
export function linkIn({ text, subject }: ReceivedMail): string {
  const [link] = /https?:\/\/\S+/.exec(text) ?? [];
  if (!link) throw new Error(`The mail "${subject}" has no link`);
  return link;
}
