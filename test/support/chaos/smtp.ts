import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { SMTPServer } from 'smtp-server';

/** A mail server that takes its time to accept what it was sent, and counts. */
export async function startSlowSmtp({ acceptsAfterMs }: { acceptsAfterMs: number }) {
  const counts = { begun: 0, accepted: 0 };
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    onData(stream, _session, done) {
      counts.begun += 1;
      stream.resume();
      stream.on('end', async () => {
        await sleep(acceptsAfterMs);
        counts.accepted += 1;
        done();
      });
    },
  });
  server.on('error', () => {}); // a client that goes away
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    counts,
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
