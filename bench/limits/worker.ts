import { generateKeyPairSync, sign } from 'node:crypto';
import Fastify from 'fastify';
import { SignJWT } from 'jose';
import pg from 'pg';
import { argon2 } from '../../src/domain/passwords/argon2.js';
import { readTable } from './read-table.js';

/** The task of a child process of the benchmark, which counts or serves until the benchmark ends it. */
export type LimitKind = 'sign-jose' | 'sign-node' | 'argon2' | 'reads' | 'hello';

/** Claims as long as the payload of an access token. */
const claims = { sub: 'x'.repeat(36), scope: 'openid profile email', rest: 'x'.repeat(600) };

/** Enough to keep every thread of libuv's pool busy. */
const inFlight = 4;

async function countFor(ms: number, concurrency: number, once: () => unknown): Promise<number> {
  const end = performance.now() + ms;
  let count = 0;
  const loop = async () => {
    for (; performance.now() < end; count++) await once();
  };
  await Promise.all(Array.from({ length: concurrency }, loop));
  return count;
}

const counters: Record<Exclude<LimitKind, 'hello'>, (ms: number) => Promise<number>> = {
  'sign-jose': (ms) => {
    const { privateKey } = newKey();
    return countFor(ms, inFlight, () => new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(privateKey));
  },
  'sign-node': (ms) => {
    const { privateKey } = newKey();
    const input = Buffer.from(JSON.stringify(claims));
    return countFor(ms, 1, () => sign('sha256', input, privateKey));
  },
  argon2: (ms) => {
    const options = { type: argon2.argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1, raw: true } as const;
    return countFor(ms, 2, () => argon2.hash('correct horse battery', options));
  },
  reads: (ms) => {
    let next = process.pid;
    const connections = pool.options.max as number;
    return countFor(ms, connections, async () => {
      next = (next + 7919) % readTable.rows; // a prime: visits all rows, and never a neighbour next
      const { rows } = await pool.query({ ...readStatement, values: [next] });
      if (rows.length !== 1) throw new Error('a row is missing');
    });
  },
};

/** Reads like the service: prepared, by primary key, over connections that stay open. */
const readStatement = { name: 'bench_read', text: `select id, label from ${readTable.name} where id = $1` };
const pool = new pg.Pool({ connectionString: process.argv[3], max: 8 });

const newKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 });

/** Serves with Fastify alone: no hooks, no database, one small JSON answer. */
async function serveHello() {
  const app = Fastify({ logger: false });
  app.get('/hello', async () => ({ hello: 'world' }));
  return app.listen({ port: 0, host: '127.0.0.1' });
}

/** What a process counted, and the CPU time that this took. */
export interface Counted {
  count: number;
  cpuMs: number;
}

async function measured(kind: Exclude<LimitKind, 'hello'>, ms: number): Promise<Counted> {
  const before = process.cpuUsage();
  const count = await counters[kind](ms);
  const { user, system } = process.cpuUsage(before);
  return { count, cpuMs: (user + system) / 1000 };
}

const kind = process.argv[2] as LimitKind;
process.on('disconnect', () => process.exit(0)); // must not outlive the benchmark
if (kind === 'hello') {
  process.send?.(await serveHello());
} else {
  await counters[kind](200); // warms up; then this process reports that it is ready
  process.on('message', async (ms: number) => process.send?.(await measured(kind, ms)));
  process.send?.('ready');
}
