import { finished } from 'node:stream/promises';
import type { FastifyReply } from 'fastify';
import type { FairQueue } from '../../domain/limits/fair-queue.js';

/**
 * Makes an answer in a turn that lasts until it is sent or the connection is closed; for answers that stay in memory
 * until then.
 * @throws DomainError service.unavailable if there is no turn in time; whatever `make` throws
 */
export function whileSent<T>(queue: FairQueue, whose: string, reply: FastifyReply, make: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const made = async () => {
      resolve(await make());
      await finished(reply.raw).catch(() => undefined);
    };
    queue(made, whose).catch(reject);
  });
}
