import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { Stops } from '../../src/dev/stops.js';
import { treeCpuMs } from '../cpu.js';
import { readTable } from './read-table.js';
import type { Counted, LimitKind } from './worker.js';

/** The most that this machine can do on all its cores. */
export interface Limit {
  perSecond: number;
  /** The cost of one; unlike the speed, it hardly depends on the machine's other load. */
  cpuMs: number;
}

export interface Limits {
  /** RSA-2048 with SHA-256, the faster of the two below. */
  signatures: Limit;
  signaturesByJose: Limit;
  signaturesByNode: Limit;
  /** argon2id with m=19456, t=2, p=1. */
  argon2: Limit;
  /** One row from PostgreSQL by its key, prepared, sixteen connections; the cost includes both sides. */
  reads: Limit;
  /** Durable commits of one inserted row, with one connection (`commitsAlone`) and with sixteen. */
  commitsAlone: number;
  commits: number;
}

/** A bare server for comparison: one process for each api process. */
export interface Hello {
  origin: string;
  pid: number;
}

export interface LimitsDatabase {
  ownerUrl: string;
  postgresPid: number;
}

export async function measureLimits(
  { cores, ms }: { cores: number; ms: number },
  database: LimitsDatabase,
): Promise<Limits> {
  const signaturesByJose = await countOn(cores, 'sign-jose', ms);
  const signaturesByNode = await countOn(cores, 'sign-node', ms);
  const quicker = signaturesByJose.perSecond > signaturesByNode.perSecond ? signaturesByJose : signaturesByNode;
  const cpuMs = Math.min(signaturesByJose.cpuMs, signaturesByNode.cpuMs);
  return {
    signatures: { perSecond: quicker.perSecond, cpuMs },
    signaturesByJose,
    signaturesByNode,
    argon2: await countOn(cores, 'argon2', ms),
    reads: await reads(cores, ms, database),
    commitsAlone: await commits(database.ownerUrl, 1, ms / 2),
    commits: await commits(database.ownerUrl, 16, ms / 2),
  };
}

/** Starts bare servers. */
export async function startHellos(count: number, stops: Stops): Promise<Hello[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const child = start('hello');
      stops.add({ name: 'hello', exited: new Promise(() => {}), stop: () => end(child) });
      return { origin: (await said(child)) as string, pid: child.pid as number };
    }),
  );
}

/**
 * Adds up what one process per core counts, all at the same time.
 * @param database the database that they use: PostgreSQL's CPU time, which the children cannot see, is part of the cost
 */
async function countOn(cores: number, kind: LimitKind, ms: number, database?: LimitsDatabase): Promise<Limit> {
  const children = Array.from({ length: cores }, () => start(kind, database?.ownerUrl));
  try {
    await Promise.all(children.map(said));
    const postgresCpuMs = () => (database && treeCpuMs(database.postgresPid)) ?? 0;
    const before = postgresCpuMs();
    const counts = children.map(said);
    for (const child of children) child.send(ms);
    const all = (await Promise.all(counts)) as Counted[];
    const postgres = postgresCpuMs() - before;
    const sum = (of: (counted: Counted) => number) => all.reduce((total, counted) => total + of(counted), 0);
    const count = sum((counted) => counted.count);
    return { perSecond: (count / ms) * 1000, cpuMs: (sum((counted) => counted.cpuMs) + postgres) / count };
  } finally {
    await Promise.all(children.map(end));
  }
}

const start = (kind: LimitKind, ownerUrl = '') =>
  fork(fileURLToPath(new URL('worker.js', import.meta.url)), [kind, ownerUrl]);

/** Returns a child's next message. @throws Error if the child ends instead */
async function said(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`a process that measures limits ended with ${code}`);
  });
  const [message] = (await Promise.race([once(child, 'message'), ended])) as unknown[];
  ended.catch(() => {}); // from here on, its end is expected
  return message;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

async function reads(cores: number, ms: number, database: LimitsDatabase): Promise<Limit> {
  const owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  const { name, rows } = readTable;
  try {
    await owner.query(`create table ${name} (id integer primary key, label text not null)`);
    await owner.query(`insert into ${name} select i, 'row ' || i from generate_series(0, ${rows - 1}) i`);
    await owner.query(`vacuum (analyze) ${name}`);
    return await countOn(cores, 'reads', ms, database);
  } finally {
    await owner.query(`drop table if exists ${name}`).catch(() => {});
    await owner.end();
  }
}

async function commits(ownerUrl: string, connections: number, ms: number): Promise<number> {
  const pool = new pg.Pool({ connectionString: ownerUrl, max: connections });
  try {
    await pool.query(
      'create table if not exists bench_commits (id bigint generated always as identity, at timestamptz)',
    );
    const insert = { name: 'bench_commit', text: 'insert into bench_commits (at) values (now())' };
    await Promise.all(Array.from({ length: connections }, () => pool.query(insert)));
    const end = performance.now() + ms;
    let count = 0;
    const loop = async () => {
      for (; performance.now() < end; count++) await pool.query(insert);
    };
    await Promise.all(Array.from({ length: connections }, loop));
    return (count / ms) * 1000;
  } finally {
    await pool.query('drop table if exists bench_commits').catch(() => {});
    await pool.end();
  }
}
