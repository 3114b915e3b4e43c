import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, type Connection, connect, expectContent, jsonOf } from '../connection.js';
import { cpuMs, rssMb, treeCpuMs } from '../cpu.js';
import type { Seed } from '../seed.js';
import type { Api } from '../service.js';
import { profileOf } from '../sized/seed.js';

/** The cost of creating many Identities with the bulk operation. */
export interface Loaded {
  seconds: number;
  perSecond: number;
  /** CPU time per Identity; null if not on Linux. */
  serverCpuMs: number | null;
  postgresCpuMs: number | null;
  /** The api's highest memory meanwhile; null if not on Linux. */
  rssMb: number | null;
}

export interface Wanted {
  count: number;
  /** The hash of everybody's password, as another system would deliver it. */
  passwordHash: string;
}

const batch = 1000;
const atOnce = 4;

interface Item {
  status: string;
  id: string | null;
}

/** An overloaded api serves sign-ins before an import: this retries when `Retry-After` says so. */
async function sendUntilServed(connection: Connection, body: object, headers: Record<string, string>): Promise<Answer> {
  for (;;) {
    const answer = await connection.postJson('/api/v1/identities/bulk', body, headers);
    if (answer.status !== 503) return answer;
    await sleep(Number(answer.headers['retry-after']) * 1000);
  }
}

/**
 * Imports people as in docs/importing.md: a thousand per request with its own key.
 * @returns ids in `profileOf`'s order
 */
export async function loadByBulk(
  { origin, pid }: Api,
  { apiKey }: Pick<Seed, 'apiKey'>,
  { count, passwordHash }: Wanted,
  { postgresPid, say }: { postgresPid: number; say: (line: string) => void },
): Promise<{ ids: string[]; loaded: Loaded }> {
  const ids = new Array<string>(count);
  let from = 0;
  let most = 0;
  const send = async (connection: Connection, first: number) => {
    const identities = Array.from({ length: Math.min(batch, count - first) }, (_, i) => ({
      ...profileOf(first + i),
      external_id: `crm-${first + i}`,
      email_verified: true,
      password_hash: passwordHash,
    }));
    const headers = { 'x-api-key': apiKey, 'idempotency-key': `import-${first}` };
    const { items } = jsonOf<{ items: Item[] }>(await sendUntilServed(connection, { identities }, headers));
    const isMade = items.every(({ status, id }) => status === 'created' && id !== null);
    expectContent(isMade && items.length === identities.length, 'everybody, as created');
    for (const [i, { id }] of items.entries()) ids[first + i] = id as string;
    most = Math.max(most, rssMb(pid) ?? 0);
    if (first % 100_000 === 0 && first > 0) say(`${first} identities are loaded`);
  };
  const before = { at: performance.now(), server: cpuMs([pid]), postgres: treeCpuMs(postgresPid) };
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      const connection = connect(origin);
      for (; from < count; ) {
        const first = from;
        from += batch;
        await send(connection, first);
      }
      await connection.close();
    }),
  );
  const seconds = (performance.now() - before.at) / 1000;
  const each = (now: number | null, then: number | null) =>
    now === null || then === null ? null : (now - then) / count;
  return {
    ids,
    loaded: {
      seconds,
      perSecond: count / seconds,
      serverCpuMs: each(cpuMs([pid]), before.server),
      postgresCpuMs: each(treeCpuMs(postgresPid), before.postgres),
      rssMb: most || null,
    },
  };
}
