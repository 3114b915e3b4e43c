import { startSmtpServer } from '../smtp-server.js';

export interface DeliveredMail {
  to: string;
  messageId: string;
  at: number;
  /** As it came, headers and all. */
  raw: string;
}

/** A mail server that keeps what it is given, knows no address of `away.example` for now, and can take a mail without an answer. */
export async function startMailSink() {
  const delivered: DeliveredMail[] = [];
  const unanswered = new Map<string, () => unknown>();
  const tokens = new Set<string>();
  /** Ids of messages by whom they went to. */
  const messages = (): Map<string, Set<string>> => {
    const ids = new Map<string, Set<string>>();
    for (const { to, messageId } of delivered) ids.set(to, (ids.get(to) ?? new Set()).add(messageId));
    return ids;
  };
  const smtp = await startSmtpServer({
    onRcptTo({ address }, _session, done) {
      const away = address.endsWith('@away.example');
      done(away ? Object.assign(new Error('not now'), { responseCode: 451 }) : null);
    },
    onData(stream, { envelope }, done) {
      let text = '';
      stream.on('data', (data) => (text += data));
      stream.on('end', async () => {
        // As quoted-printable has it: lines are cut anywhere.
        for (const [, token] of text.replace(/=\r?\n/g, '').matchAll(/token=3D([\w-]{43})/g))
          tokens.add(token as string);
        const messageId = /^message-id: *(\S+)/im.exec(text)?.[1] ?? 'none';
        for (const { address: to } of envelope.rcptTo) {
          delivered.push({ to, messageId, at: Date.now(), raw: text });
          const instead = unanswered.get(to);
          unanswered.delete(to);
          if (instead) return instead();
        }
        done();
      });
    },
  });
  return {
    ...smtp,
    delivered,
    messages,
    /**
     * How many messages went to an address. Where the answer to one is lost, it comes again as the same one: on a machine so busy
     * that an attempt's time is over, too. `repeats` says how often that was.
     */
    messagesTo: (address: string) => messages().get(address)?.size ?? 0,
    repeats: () => delivered.length - [...messages().values()].reduce((sum, ids) => sum + ids.size, 0),
    deliveredTo: (address: string) => delivered.filter(({ to }) => to === address),
    /** Whom mails went to, and the tokens of the links in them. */
    told: () => ({ addresses: [...new Set(delivered.map(({ to }) => to))], tokens: [...tokens] }),
    /** The next mail to this address is taken, and this is done instead of saying so. */
    insteadOfAnAnswer(address: string, work: () => unknown): void {
      unanswered.set(address, work);
    },
  };
}
