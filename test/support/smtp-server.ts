import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** Starts a real mail server on loopback, which accepts all mail and keeps none, unless its options say otherwise. */
export async function startSmtpServer({ port = 0, ...options }: SMTPServerOptions & { port?: number } = {}) {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, _session, done) => void stream.resume().on('end', () => done()),
    ...options,
  });
  server.on('error', () => undefined); // clients that disconnect or are killed
  server.listen(port, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** Returns an `onData` that reads the whole mail, headers included, and passes it on with its recipients. */
export const whole =
  (take: (raw: string, to: string[]) => unknown): NonNullable<SMTPServerOptions['onData']> =>
  (stream, { envelope }, done) => {
    const to = envelope.rcptTo.map(({ address }) => address);
    text(stream)
      .then((raw) => take(raw, to))
      .then(() => done(), done);
  };
