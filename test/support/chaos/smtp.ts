import { setTimeout as sleep } from 'node:timers/promises';
import { startSmtpServer } from '../smtp-server.js';

/** Starts a mail server that accepts mails slowly, and counts them. */
export async function startSlowSmtp({ acceptsAfterMs }: { acceptsAfterMs: number }) {
  const counts = { begun: 0, accepted: 0 };
  const server = await startSmtpServer({
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
  return { ...server, counts };
}
