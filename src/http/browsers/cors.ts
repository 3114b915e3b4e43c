import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Client } from '../../domain/oidc/clients/clients.js';
import type { Provider } from '../../domain/oidc/provider.js';
import { claimedClientId } from '../oauth/userinfo.js';
import { isOriginOf, type Scripts, sendable } from './client-origins.js';

const readable =
  'ETag, Link, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id, Idempotency-Replayed, Content-Disposition';

type Hook = 'onRequest' | 'preValidation';

/**
 * Lets scripts of some origins read the answers of a plugin's routes, including refusals; with cookies, if a surface
 * uses any.
 * @param isOurs whether the scripts of this origin may
 */
export function letScriptsRead(
  app: FastifyInstance,
  at: Hook,
  isOurs: (request: FastifyRequest, origin: string) => boolean | Promise<boolean>,
): void {
  const allow = async (request: FastifyRequest, reply: FastifyReply) => {
    const { origin } = request.headers;
    reply.header('vary', 'Origin');
    if (origin === undefined || !(await isOurs(request, origin))) return;
    reply
      .header('access-control-allow-origin', origin)
      .header('access-control-allow-credentials', 'true')
      .header('access-control-expose-headers', readable);
  };
  if (at === 'onRequest') app.addHook('onRequest', allow);
  else app.addHook('preValidation', allow);
}

/** Does this for a client's own scripts; `clientOf` finds the client before the request is validated or counted. */
export const allowOrigins = (
  app: FastifyInstance,
  at: Hook,
  clientOf: (request: FastifyRequest) => Promise<Scripts | null>,
): void =>
  letScriptsRead(app, at, async (request, origin) => {
    const client = await clientOf(request);
    return client !== null && isOriginOf(client, origin);
  });

/**
 * Returns the client that a token names, even an expired one: its client's scripts must be able to read the refusal.
 */
export async function clientOfToken(
  { clients }: Pick<Provider, 'clients'>,
  { headers: { authorization = '' } }: FastifyRequest,
): Promise<Client | null> {
  const [, token] = /^Bearer +(\S+)/i.exec(authorization) ?? [];
  const clientId = token === undefined ? null : claimedClientId(token);
  return clientId === null ? null : clients.find(clientId);
}

/**
 * Answers the preflight of every route that the plugin gets afterwards. A preflight names no client, so any origin may
 * pass: it reveals nothing, no cookie signs anybody in here, and the answer itself is readable for the client's own
 * scripts only.
 */
export function answerPreflights(app: FastifyInstance): void {
  const known = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ routePath, method }) => {
    const methods = known.get(routePath) ?? new Set();
    const isNew = methods.size === 0;
    for (const name of ([] as string[]).concat(method)) if (name !== 'OPTIONS') methods.add(name);
    known.set(routePath, methods);
    if (isNew && methods.size > 0) preflight(app, routePath, methods);
  });
}

/** Answers the preflights of all paths of a surface; only the request itself reveals whether its path exists. */
export function answerPreflightsBelow(app: FastifyInstance, prefix: string): void {
  preflight(app, `${prefix}/*`, new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']));
}

const preflight = (app: FastifyInstance, path: string, methods: ReadonlySet<string>) =>
  app.options(path, { schema: { hide: true } }, async (request, reply) =>
    reply
      .code(204)
      .header('vary', 'Origin')
      .header('access-control-allow-origin', request.headers.origin ?? '*')
      .header('access-control-allow-credentials', 'true')
      .header('access-control-allow-methods', [...methods].join(', '))
      .header('access-control-allow-headers', sendable)
      .header('access-control-max-age', '600')
      .send(),
  );
