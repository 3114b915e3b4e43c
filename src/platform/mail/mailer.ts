import { createHash } from 'node:crypto';
import { createTransport } from 'nodemailer';
import { minutes, seconds } from '../clock.js';
import { domainOf, type Mailbox, mailbox, parseMailbox } from './addresses.js';
import { isAwaited } from './awaited.js';
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
  /** By default a minute, and ten. */
  waits?: MailerWaits;
}

interface MailerWaits {
  /** Milliseconds in which the server has to ask for the message. It has nothing by then, so that it can be tried again soon. */
  untilAskedMs: number;
  /**
   * Milliseconds that its answer to the message is waited for: whoever asks again sends it twice, so RFC 5321 §4.5.3.2.6 wants ten
   * minutes.
   */
  untilAnsweredMs: number;
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

/** Connections of a process to the mail server, for each lane of mails. Providers allow few of them. */
export const mailsAtOnce = 3;

/**
 * Sends the mails of `templates/email` over a few SMTP connections that it keeps open. A failure that lasts is thrown as
 * `MailRejected`; any other error is worth another try, and the same `messageId` then lets a duplicate be recognized.
 */
export function createMailer({
  smtpUrl,
  from,
  waits = { untilAskedMs: minutes(1), untilAnsweredMs: minutes(10) },
}: MailerOptions) {
  const sender = parseMailbox(from);
  const lanes = { awaited: connect(smtpUrl, waits), others: connect(smtpUrl, waits) };

  return {
    /** Sends one mail and answers its `Message-ID`. */
    async send<N extends keyof EmailTemplates>(name: N, mail: Mail<N>): Promise<{ messageId: string }> {
      const to = recipient(mail.to);
      const messageId = messageIdFor(mail.messageId, sender);
      const content = await renderEmail(name, mail.locale, mail.values, mail.brand);
      const silence = new AbortController();
      const within = (ms: number) => setTimeout(() => silence.abort(), ms);
      let giveUp = within(waits.untilAskedMs);
      const onAsked = () => {
        clearTimeout(giveUp);
        giveUp = within(waits.untilAnsweredMs); // of the whole answer: the socket's time begins anew with each byte that drips
      };
      const watched: Watched = { signal: silence.signal, onAsked };
      try {
        await (isAwaited(name) ? lanes.awaited : lanes.others).sendMail({
          ...watched,
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
        throw silence.signal.aborted ? new MailServerSilent() : (rejection(error) ?? error);
      } finally {
        clearTimeout(giveUp);
      }
      return { messageId };
    },

    /** Connects and signs in without sending: whether mail can leave at all. */
    async verify(): Promise<void> {
      await lanes.awaited.verify();
    },

    /** Lets mails on their way finish, then closes the connections. */
    close(): void {
      for (const lane of Object.values(lanes)) lane.close();
    },
  };
}

/** A few connections, which are kept for a while. */
function connect(smtpUrl: string, { untilAnsweredMs }: MailerWaits) {
  const transport = createTransport({
    requireTLS: new URL(smtpUrl).password !== '', // no password in the clear, unless the URL says `?requireTLS=false`
    url: smtpUrl,
    pool: true,
    maxConnections: mailsAtOnce,
    connectionTimeout: seconds(10),
    greetingTimeout: seconds(30), // some let strangers wait before they greet
    socketTimeout: untilAnsweredMs,
    idleTimeout: seconds(20), // what lies on the way forgets connections that nobody uses, and tells nobody
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  transport.use('stream', ({ data, message }, next) => {
    message.processFunc((stream) => stream.once('resume', (data as Watched).onAsked));
    next();
  });
  return transport;
}

/** What a mail is sent with, so that its sender knows when the server has asked for it. */
interface Watched {
  signal: AbortSignal;
  onAsked: () => void;
}

class MailServerSilent extends Error {
  override name = 'MailServerSilent';
  readonly code = 'ETIMEDOUT';
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
