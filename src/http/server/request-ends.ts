import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** The status that nginx and others log for a caller that left before the answer. It is never sent. */
const left = 499;

/** @param status of the answer, or 499 if the caller was gone before it began */
export type AtEnd = (request: FastifyRequest, reply: FastifyReply, status: number) => void;

/**
 * Calls back when a request is over: once its answer is out, and also when its caller has left before that, which
 * Fastify's `onResponse` does not report. Requests that were given up are the ones that took longest.
 */
export function onRequestEnd(app: FastifyInstance, done: readonly AtEnd[]): void {
  app.addHook('onRequest', (request, reply, next) => {
    reply.raw.once('close', () => {
      const status = reply.raw.headersSent ? reply.statusCode : left;
      for (const end of done) end(request, reply, status);
    });
    next();
  });
}
