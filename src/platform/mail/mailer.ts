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

interface MailerOptions {
  /** `smtp://user:password@host:587`, or `smtps://` for TLS from the first byte. */
  smtpUrl: string;
  /** `Gatehouse <no-reply@example.com>` or an address alone. */
  from: string;
  /** By default four minutes, and ten. */
  waits?: MailerWaits;
}

interface MailerWaits {
  /**
   * Milliseconds within which the server must ask for the message, after up to eight answers of half a minute each.
   * Until then it has nothing: a retry may be soon.
   */
  untilAskedMs: number;
  /**
   * Milliseconds to wait for the server's answer to the message: a retry sends it twice, so RFC 5321 §4.5.3.2.6
   * requires ten minutes.
   */
  untilAnsweredMs: number;
}

interface Mail<N extends keyof EmailTemplates> {
  to: string;
  locale: Locale;
  values: EmailTemplates[N];
  /** The brand that the mail shows, also as the name of its sender; if absent, ours. */
  brand?: MailBrand | undefined;
  /** Identifies this mail when it is sent again, such as workflow id and step. */
  messageId: string;
}

export type Mailer = ReturnType<typeof createMailer>;

/** The most connections of a process to the mail server, per lane of mails. Providers allow few. */
export const mailsAtOnce = 3;

/**
 * Sends the mails of `templates/email` over a few SMTP connections that it keeps open. It throws `MailRejected` for a
 * lasting failure; any other error is worth a retry, and its same `messageId` makes a duplicate recognizable.
 */
export function createMailer({
  smtpUrl,
  from,
  waits = { untilAskedMs: minutes(4), untilAnsweredMs: minutes(10) },
}: MailerOptions) {
  const sender = parseMailbox(from);
  const lanes = { awaited: connect(smtpUrl, waits), others: connect(smtpUrl, waits) };

  return {
    /** Sends one mail and returns its `Message-ID`. */
    async send<N extends keyof EmailTemplates>(name: N, mail: Mail<N>): Promise<{ messageId: string }> {
      const to = recipient(mail.to);
      const messageId = messageIdFor(mail.messageId, sender);
      const content = await renderEmail(name, mail.locale, mail.values, mail.brand);
      const silence = new AbortController();
      const within = (ms: number) => setTimeout(() => silence.abort(), ms);
      let giveUp = within(waits.untilAskedMs);
      const onAsked = () => {
        clearTimeout(giveUp);
        giveUp = within(waits.untilAnsweredMs); // limits the whole answer: each byte restarts the socket's time-out
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
            // RFC 3834: prevents out-of-office replies to a message that no person sent.
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

    /** Connects and authenticates without sending, to check that mail can be sent at all. */
    async verify(): Promise<void> {
      await lanes.awaited.verify();
    },

    /** Lets mails that are being sent finish, then closes the connections. */
    close(): void {
      for (const lane of Object.values(lanes)) lane.close();
    },
  };
}

/** Creates a pool of a few connections, which stay open for a while. */
function connect(smtpUrl: string, { untilAnsweredMs }: MailerWaits) {
  const transport = createTransport({
    requireTLS: new URL(smtpUrl).password !== '', // no password without TLS, unless the URL has `?requireTLS=false`
    url: smtpUrl,
    pool: true,
    maxConnections: mailsAtOnce,
    connectionTimeout: minutes(1), // for all until the session begins: the connection, the greeting, STARTTLS
    greetingTimeout: seconds(40), // some servers make unknown clients wait for it
    socketTimeout: untilAnsweredMs,
    idleTimeout: seconds(20), // firewalls and NAT on the way silently forget idle connections
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  transport.use('stream', ({ data, message }, next) => {
    message.processFunc((stream) => stream.once('resume', (data as Watched).onAsked));
    next();
  });
  return transport;
}

/** Passed along with a mail: `onAsked` is called when the server has asked for the message. */
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

/** Returns the same `Message-ID` for the same key; it reveals nothing about the process. */
function messageIdFor(key: string, sender: Mailbox): string {
  return `<${createHash('sha256').update(key).digest('hex').slice(0, 40)}@${domainOf(sender)}>`;
}
