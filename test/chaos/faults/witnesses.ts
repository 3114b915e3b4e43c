import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startMailSink } from '../../support/crash/mail-sink.js';
import { startDnsServer } from '../../support/dns-server.js';
import { createRandom } from '../../support/random.js';
import { startReceiver } from '../../support/webhooks.js';
import { openLedger } from './ledger.js';
import type { World } from './world.js';

export type Witnesses = Pick<World, 'ledger' | 'mails' | 'dns' | 'receiver' | 'random'> & {
  /** Settings that direct api and worker to these, with retries within seconds. */
  env: Record<string, string>;
  stop(): Promise<void>;
};

/** Starts everything outside that sees what the service does, and the ledger of what it acknowledged. */
export async function startWitnesses(seed: number): Promise<Witnesses> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-faults-'));
  const random = createRandom(seed);
  const [mails, dns, receiver] = await Promise.all([
    startMailSink(),
    startDnsServer(),
    // Refuses one call in six, so that there are retries as well.
    startReceiver((_message, _before, response) => response.writeHead(random.next() < 1 / 6 ? 503 : 204).end()),
  ]);
  return {
    ledger: openLedger(join(folder, 'ledger')),
    mails,
    dns,
    receiver,
    random,
    env: {
      WEBHOOK_RETRY_SCHEDULE: '1s,1s,2s,2s,5s,5s,5s,5s,10s,10s,10s,10s,10s,10s',
      DOMAIN_POLL_SCHEDULE: '600x2s',
      SMTP_URL: mails.url,
      DNS_SERVERS: dns.address,
    },
    async stop() {
      await Promise.all([mails.stop(), dns.stop(), receiver.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
