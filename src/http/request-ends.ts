import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** What nginx and others write for a caller that was gone before there was an answer. Nobody is sent it. */
const left = 499;

/** @param status of the answer, or 499 where its caller was gone before it began */
export type AtEnd = (request: FastifyRequest, reply: FastifyReply, status: number) => void;

/**
 * Has this done when a request is over: once the answer is out, and also when its caller is gone before it, of which Fastify's
 * `onResponse` says nothing. Those that gave up are the ones that took longest.
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
