import { createHash } from 'node:crypto';
import { createTransport } from 'nodemailer';
import { domainOf, type Mailbox, mailbox, parseMailbox } from './addresses.js';
import type { MailBrand } from './brand.js';
import { MailRejected, rejection } from './rejected.js';
import { type EmailTemplates, renderEmail } from './templates.js';
import type { Locale } from './texts.js';
import { oneLine } from './values.js';

export { MailRejected };

interface MailerOptions {
  /** `smtp://user:password@host:587`, or `smtps://` for TLS from the first byte. */
  smtpUrl: string;
  /** `Gatehouse <no-reply@example.com>` or an address alone. */
  from: string;
}

interface Mail<N extends keyof EmailTemplates> {
  to: string;
  locale: Locale;
  values: EmailTemplates[N];
  /** As whose it is shown, in it and as the name of its sender; ours where it is not said. */
  brand?: MailBrand | undefined;
  /** What makes this mail the same mail when it is sent again, such as workflow id and step. */
  messageId: string;
}

export type Mailer = ReturnType<typeof createMailer>;

/**
 * Sends the mails of `templates/email` over a few SMTP connections that it keeps open. A failure that lasts is thrown as
 * `MailRejected`; any other error is worth another try, and the same `messageId` then lets a duplicate be recognized.
 */
export function createMailer({ smtpUrl, from }: MailerOptions) {
  const sender = parseMailbox(from);
  const transport = createTransport({
    requireTLS: new URL(smtpUrl).password !== '', // no password in the clear, unless the URL says `?requireTLS=false`
    url: smtpUrl,
    pool: true,
    maxConnections: 3,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 30_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  });

  return {
    /** Sends one mail and answers its `Message-ID`. */
    async send<N extends keyof EmailTemplates>(name: N, mail: Mail<N>): Promise<{ messageId: string }> {
      const to = recipient(mail.to);
      const messageId = messageIdFor(mail.messageId, sender);
      const content = await renderEmail(name, mail.locale, mail.values, mail.brand);
      try {
        await transport.sendMail({
          ...content,
          from: mail.brand ? { ...sender, name: oneLine(mail.brand.name) } : sender,
          to,
          messageId,
          headers: {
            // RFC 3834: no out-of-office replies to a message that no person sent.
            'Auto-Submitted': 'auto-generated',
            'X-Auto-Response-Suppress': 'All',
            'Content-Language': mail.locale,
          },
        });
      } catch (error) {
        throw rejection(error) ?? error;
      }
      return { messageId };
    },

    /** Connects and signs in without sending: whether mail can leave at all. */
    async verify(): Promise<void> {
      await transport.verify();
    },

    /** Lets mails on their way finish, then closes the connections. */
    close(): void {
      transport.close();
    },
  };
}

function recipient(address: string): Mailbox {
  try {
    return mailbox(address);
  } catch (error) {
    throw new MailRejected('The recipient is not an email address', null, { cause: error });
  }
}

/** The same key always gives the same `Message-ID`, and nothing about the process can be read from it. */
function messageIdFor(key: string, sender: Mailbox): string {
  return `<${createHash('sha256').update(key).digest('hex').slice(0, 40)}@${domainOf(sender)}>`;
}
