import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { DomainError } from '../../domain/errors.js';
import { RequestAborted } from '../../platform/database/aborting.js';
import { LazyAbort } from '../../platform/lazy-abort.js';

/**
 * Aborts a request when its time is over, or its caller is gone: all work for it notices by `abortController` of the
 * context. A late request is answered with 503, and its later result is dropped. Fastify's own
 * `handlerTimeout` and `request.signal` do not work here: they take a body that was read for a caller who is gone
 * (fastify/fastify#6725).
 * @param answerWithinMs the time of a request, without what it asked to wait for (`waitsMs`)
 */
export function abortLateRequests(app: FastifyInstance, answerWithinMs: number): void {
  app.addHook('onRequest', (request, reply, done) => {
    const abortController = new LazyAbort();
    request.context.abortController = abortController;
    const within = answerWithinMs + (request.routeOptions.config?.waitsMs ?? 0);
    const timer = Number.isFinite(within) ? setTimeout(refuseLate, within, request, reply, abortController) : undefined;
    reply.raw.once('close', () => {
      clearTimeout(timer);
      if (!reply.raw.writableEnded) abortController.abort();
    });
    done();
  });
  app.addHook('onRoute', (route) => {
    route.handler = leavingAborted(route.handler);
  });
}

function refuseLate({ context }: FastifyRequest, reply: FastifyReply, abortController: LazyAbort): void {
  if (reply.sent) return;
  if (context.outcome) context.outcome.isUnknown = true; // the work goes on
  abortController.abort();
  const cause = new Error('The request had its time');
  if (reply.raw.headersSent) return void reply.raw.destroy(cause);
  const { send } = reply;
  // Otherwise Fastify would log the URL of whatever is sent after that, with codes and names in its query.
  reply.send = (payload) => (reply.sent ? reply : send.call(reply, payload));
  reply.send(new DomainError('service.unavailable', { retryAfter: 5, cause }));
}

/** An answer that can no longer be sent is not an error to report. */
const leavingAborted = (handler: RouteHandlerMethod): RouteHandlerMethod =>
  function (request, reply) {
    const answer: unknown = handler.call(this, request, reply);
    if (!(answer instanceof Promise)) return answer;
    return answer.catch((error) => {
      if (!(error instanceof RequestAborted)) throw error;
    });
  };
