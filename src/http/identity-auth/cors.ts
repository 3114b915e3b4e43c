import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { originsOf, type Scripts } from '../oauth/cors.js';

const readable = 'Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id, Idempotency-Replayed';

/**
 * Has the routes of a plugin let scripts of a client's own origins read their answers, refusals too; with cookies, because a
 * trusted device is one. Whose request it is says `clientOf`, asked before anything is validated or counted.
 */
export function allowOrigins(
  app: FastifyInstance,
  at: 'onRequest' | 'preValidation',
  clientOf: (request: FastifyRequest) => Promise<Scripts | null>,
): void {
  const allow = async (request: FastifyRequest, reply: FastifyReply) => {
    const { origin } = request.headers;
    reply.header('vary', 'Origin');
    if (origin === undefined) return;
    const client = await clientOf(request);
    if (!client || !originsOf(client).has(origin)) return;
    reply
      .header('access-control-allow-origin', origin)
      .header('access-control-allow-credentials', 'true')
      .header('access-control-expose-headers', readable);
  };
  if (at === 'onRequest') app.addHook('onRequest', allow);
  else app.addHook('preValidation', allow);
}

/**
 * Answers the preflight of every route that the plugin gets afterwards. A preflight names no client, so each origin is let
 * through: it gives nothing away, no cookie signs anybody in here, and the answer itself is readable to a client's own only.
 */
export function answerPreflights(app: FastifyInstance): void {
  const known = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ routePath, method }) => {
    const methods = known.get(routePath) ?? new Set();
    const isNew = methods.size === 0;
    for (const name of ([] as string[]).concat(method)) if (name !== 'OPTIONS') methods.add(name);
    known.set(routePath, methods);
    if (isNew && methods.size > 0) preflight(routePath, methods);
  });
  const preflight = (path: string, methods: ReadonlySet<string>) =>
    app.options(path, { schema: { hide: true } }, async (request, reply) =>
      reply
        .code(204)
        .header('vary', 'Origin')
        .header('access-control-allow-origin', request.headers.origin ?? '*')
        .header('access-control-allow-credentials', 'true')
        .header('access-control-allow-methods', [...methods].join(', '))
        .header('access-control-allow-headers', 'authorization, content-type, idempotency-key, x-request-id')
        .header('access-control-max-age', '600')
        .send(),
    );
}
