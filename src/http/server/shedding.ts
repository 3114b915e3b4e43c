import { performance } from 'node:perf_hooks';
import type { FastifyInstance } from 'fastify';
import { Counter, type Registry } from 'prom-client';
import { DomainError } from '../../domain/errors.js';

export interface SheddingOptions {
  registry: Registry;
  log: { warn(details: object, message: string): void };
  /** How late our own work may be on average, in milliseconds; 0: nothing is shed for that. */
  maxLoopDelayMs: number;
  maxWaitingForDatabase: number;
  /**
   * Returns how many statements and how many transactions wait for a connection to the database, of one Account at most
   * `maxOfEach` of each: its own queue is no reason to refuse others.
   */
  waitingForDatabase(maxOfEach: number): Record<string, number>;
  /** Returns whether no other password can be hashed now. */
  isHashingFull(): boolean;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Is answered under any load: load balancers and operators ask it. */
    neverShed?: boolean;
    /** Hashes a password; refused before an attempt is counted if that could not be done. */
    hashes?: boolean;
  }
}

const sampleMs = 100;
/** Some requests are always accepted; otherwise nothing would show that there is capacity again. */
const maxShed = 0.95;

/**
 * Returns the share of requests to refuse next. It grows as fast as the overload and shrinks slowly, until about as
 * much is accepted as can be done.
 * @param pressure 1 if as much is waiting as may
 */
export const nextShare = (share: number, pressure: number): number =>
  pressure > 1 ? Math.min(maxShed, share + 0.1 * Math.min(pressure, 3)) : Math.max(0, share - 0.02);

/**
 * Returns the average delay of a timer. One long piece of work, or a process that was halted, means little: each sample
 * weighs three tenths, and counts for twice the limit at most.
 */
export const nextDelay = (average: number, lateMs: number, limitMs: number): number =>
  0.7 * average + 0.3 * Math.min(Math.max(0, lateMs), 2 * limitMs);

/** How much of what may wait is one Account's at most, at each of two pools. */
const partOfOne = 0.4;

/**
 * Refuses, with 503 and `Retry-After`, what could not be answered in time, before anything is done for it. Accepted
 * requests are answered about as soon as always, and memory holds no more than them (docs/decisions/0052).
 */
export function shedLoad(app: FastifyInstance, options: SheddingOptions): void {
  const { registry, log, maxLoopDelayMs, maxWaitingForDatabase, waitingForDatabase, isHashingFull } = options;
  const refused = new Counter({
    name: 'gatehouse_requests_shed_total',
    help: 'Requests refused because of too much load, by the resource that was short.',
    labelNames: ['reason'],
    registers: [registry],
  });
  let [share, delay] = [0, 0];
  let expectedAt = performance.now() + sampleMs;

  function sample() {
    const now = performance.now();
    delay = nextDelay(delay, now - expectedAt, maxLoopDelayMs);
    expectedAt = now + sampleMs;
    const waiting = Object.values(waitingForDatabase(partOfOne * maxWaitingForDatabase)).reduce(
      (sum, count) => sum + count,
      0,
    );
    const before = share;
    share = nextShare(share, Math.max(delay / maxLoopDelayMs, waiting / maxWaitingForDatabase));
    if (before === 0 && share > 0) log.warn({ delayMs: Math.round(delay), waiting }, 'more comes than can be done');
  }
  if (maxLoopDelayMs > 0) {
    const timer = setInterval(sample, sampleMs).unref();
    app.addHook('onClose', async () => clearInterval(timer));
  }

  app.addHook('onRequest', (request, _reply, done) => {
    const { neverShed, hashes } = request.routeOptions.config ?? {};
    const reason = neverShed ? null : hashes && isHashingFull() ? 'hashing' : Math.random() < share ? 'load' : null;
    if (reason === null) return done();
    refused.labels(reason).inc();
    // Spread, so that not all come back at the same moment.
    done(new DomainError('service.unavailable', { retryAfter: 1 + Math.floor(Math.random() * 3) }));
  });
}
