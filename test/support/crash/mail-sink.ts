import { startSmtpServer } from '../smtp-server.js';

export interface DeliveredMail {
  to: string;
  messageId: string;
  at: number;
  /** The whole message as received, headers included. */
  raw: string;
}

/**
 * Starts a mail server that keeps all mail, refuses `away.example` temporarily, and can accept a mail without
 * answering.
 */
export async function startMailSink() {
  const delivered: DeliveredMail[] = [];
  const unanswered = new Map<string, () => unknown>();
  const tokens = new Set<string>();
  /** Returns the ids of messages by recipient. */
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
        // Quoted-printable: lines may be broken anywhere.
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
     * Returns how many messages went to an address. A message is sent again under the same id if the answer to it was
     * lost, or if a busy machine let the attempt time out; `repeats` returns how often that was.
     */
    messagesTo: (address: string) => messages().get(address)?.size ?? 0,
    repeats: () => delivered.length - [...messages().values()].reduce((sum, ids) => sum + ids.size, 0),
    deliveredTo: (address: string) => delivered.filter(({ to }) => to === address),
    /** Returns all recipients, and the tokens of the links in their mails. */
    told: () => ({ addresses: [...new Set(delivered.map(({ to }) => to))], tokens: [...tokens] }),
    /** Accepts the next mail to this address, and runs `work` instead of answering. */
    insteadOfAnAnswer(address: string, work: () => unknown): void {
      unanswered.set(address, work);
    },
  };
}
