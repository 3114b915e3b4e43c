import type { FastifyInstance, FastifyReply } from 'fastify';
import { DomainError } from '../../domain/errors.js';
import { subscriberOf } from '../../platform/database/subscriber.js';
import { largeMessagesRefused } from '../../platform/metrics/metrics.js';

/** The most bytes of one subscriber's requests and responses that this process may have in memory. */
const maxBuffered = 64 * 1024 * 1024;
/** Shorter bodies and answers are not counted: nearly all are, and a great many of them fit. */
const short = 64 * 1024;

/**
 * Limits how much memory the connections of one network address take: bodies that have arrived in part, and answers that
 * nobody reads. Each may be small and its caller within every limit: a thousand of them at once, from callers who are
 * as slow as they like, would otherwise end the process. Beyond the limit a request is refused with 503, and one whose
 * body is arriving loses its connection. Exports and trees are not counted: they are read in portions, or have turns.
 */
export function limitBufferedBytes(app: FastifyInstance, maxBytes = maxBuffered): void {
  const buffered = new Map<string, number>();
  const add = (address: string, bytes: number) => {
    const now = (buffered.get(address) ?? 0) + bytes;
    if (now > 0) buffered.set(address, now);
    else buffered.delete(address);
  };
  const isFull = (address: string) => (buffered.get(address) ?? 0) >= maxBytes;

  /** Returns a function that counts bytes until the answer is sent, or the connection is closed. */
  function counterOf(address: string, { raw }: FastifyReply): (bytes: number) => void {
    let sum = 0;
    let isOver = raw.closed; // its caller may have left before there was an answer
    raw.once('close', () => {
      isOver = true;
      add(address, -sum);
    });
    return (bytes) => {
      if (isOver) return;
      sum += bytes;
      add(address, bytes);
    };
  }

  app.addHook('onRequest', ({ ip, routeOptions }, _reply, done) => {
    if (buffered.size === 0 || routeOptions.config?.neverShed || !isFull(subscriberOf(ip))) return done();
    largeMessagesRefused.inc();
    done(new DomainError('service.unavailable', { retryAfter: 5 }));
  });

  app.addHook('preParsing', ({ ip, headers, raw }, reply, payload, done) => {
    if (Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) > short && headers['content-type']) {
      const address = subscriberOf(ip);
      const count = counterOf(address, reply);
      payload.pause(); // whoever reads the body resumes it
      payload.on('data', ({ length }: Buffer) => {
        count(length);
        if (!isFull(address)) return;
        largeMessagesRefused.inc();
        raw.destroy();
      });
    }
    done(null, payload);
  });

  app.addHook('onSend', ({ ip }, reply, payload, done) => {
    if (typeof payload === 'string' && payload.length > short) counterOf(subscriberOf(ip), reply)(payload.length);
    done(null, payload);
  });
}
