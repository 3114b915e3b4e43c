import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Client } from '../../domain/oidc/clients/clients.js';
import { isOriginOf, sendable } from '../browsers/client-origins.js';

/** The response headers on which a client acts: when to retry, why it was refused, and what to report to support. */
const readable = 'Retry-After, WWW-Authenticate, X-Request-Id';

/**
 * Lets scripts of a client's own origins read an answer. A preflight names no client, so it is always allowed: it
 * reveals nothing, and a foreign script cannot read the answer itself without this header. No cookie is involved.
 */
export function allowOrigin(request: FastifyRequest, reply: FastifyReply, client: Client): void {
  const { origin } = request.headers;
  reply.header('vary', 'Origin');
  if (origin === undefined || !isOriginOf(client, origin)) return;
  reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', readable);
}

/** Answers the preflights of a path. */
export function answerPreflights(app: FastifyInstance, path: string, methods: string): void {
  app.options(path, { schema: { hide: true } }, async (_request, reply) =>
    reply
      .code(204)
      .header('access-control-allow-origin', '*')
      .header('access-control-allow-methods', methods)
      .header('access-control-allow-headers', sendable)
      .header('access-control-max-age', '600')
      .send(),
  );
}
