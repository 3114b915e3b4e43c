import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { DomainError } from '../domain/errors.js';
import { GivenUp } from '../platform/database/giving-up.js';
import { LazyAbort } from '../platform/lazy-abort.js';

/**
 * Gives a request up when it had its time, or its caller is gone: the context's `givenUp` says so to what is done for it. Who is
 * late is answered with 503; what comes of it later is nobody's answer. Fastify's own `handlerTimeout` and `request.signal` are no
 * good for it: they take a body that has been read for a caller who is gone (fastify/fastify#6725).
 * @param answerWithinMs what a request asked to wait for comes on top (`waitsMs`)
 */
export function giveUpInTime(app: FastifyInstance, answerWithinMs: number): void {
  app.addHook('onRequest', (request, reply, done) => {
    const givenUp = new LazyAbort();
    request.context.givenUp = givenUp;
    const within = answerWithinMs + (request.routeOptions.config?.waitsMs ?? 0);
    const timer = Number.isFinite(within) ? setTimeout(refuseLate, within, request, reply, givenUp) : undefined;
    reply.raw.once('close', () => {
      clearTimeout(timer);
      if (!reply.raw.writableEnded) givenUp.abort();
    });
    done();
  });
  app.addHook('onRoute', (route) => {
    route.handler = leavingGivenUp(route.handler);
  });
}

function refuseLate({ context }: FastifyRequest, reply: FastifyReply, givenUp: LazyAbort): void {
  if (reply.sent) return;
  if (context.outcome) context.outcome.isUnknown = true; // it is still worked on
  givenUp.abort();
  const cause = new Error('The request had its time');
  if (reply.raw.headersSent) return void reply.raw.destroy(cause);
  const { send } = reply;
  // Fastify would log the address of whatever is sent after that, with the codes and names in its query.
  reply.send = (payload) => (reply.sent ? reply : send.call(reply, payload));
  reply.send(new DomainError('service.unavailable', { retryAfter: 5, cause }));
}

/** Nobody is told that nobody is told. */
const leavingGivenUp = (handler: RouteHandlerMethod): RouteHandlerMethod =>
  function (request, reply) {
    const answer: unknown = handler.call(this, request, reply);
    if (!(answer instanceof Promise)) return answer;
    return answer.catch((error) => {
      if (!(error instanceof GivenUp)) throw error;
    });
  };
