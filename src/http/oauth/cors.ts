import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Client } from '../../domain/oidc/clients.js';
import { isRegistered } from '../../domain/oidc/redirect-uris.js';

/** The headers of answers that a client acts on: when to come back, why it was refused, what to name to support. */
const readable = 'Retry-After, WWW-Authenticate, X-Request-Id';

/** The request headers that a script of another origin may send anywhere: a page that is traced adds `traceparent` to each of its requests. */
export const sendable = 'authorization, content-type, if-match, idempotency-key, x-request-id, traceparent, tracestate';

/**
 * Lets scripts of a client's own origins read an answer. A preflight names no client, so it is always allowed: it gives
 * nothing away, and without this header on the answer itself a foreign script cannot read it. No cookie is involved.
 */
export function allowOrigin(request: FastifyRequest, reply: FastifyReply, client: Client): void {
  const { origin } = request.headers;
  reply.header('vary', 'Origin');
  if (origin === undefined || !isOriginOf(client, origin)) return;
  reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', readable);
}

/** What says where scripts run. */
export interface Scripts extends Pick<Client, 'clientType' | 'redirectUris'> {
  settings: Pick<Client['settings'], 'allowedOrigins'>;
}

/** Whether a client's scripts run there: where the Environment allows, and for a public client where its answers may go. */
export function isOriginOf({ settings, clientType, redirectUris }: Scripts, origin: string): boolean {
  if (origin === 'null') return false;
  if (settings.allowedOrigins.includes(origin)) return true;
  const redirected = redirectUris.map((uri) => new URL(uri).origin);
  return clientType === 'public' && isRegistered(origin, redirected);
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
