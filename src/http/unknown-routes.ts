import type { FastifyInstance, HTTPMethods } from 'fastify';
import findMyWay, { type HTTPMethod } from 'find-my-way';
import { DomainError } from '../domain/errors.js';
import { pathOf, sendError } from './errors.js';

/** 404 for an unknown path, and 405 with `Allow` for a known one that does not take the method (RFC 9110 §15.5.6). */
export function answerUnknownRoutes(app: FastifyInstance): void {
  const methodsOf = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const known = methodsOf.get(url) ?? new Set();
    for (const name of ([] as HTTPMethods[]).concat(method)) known.add(name);
    methodsOf.set(url, known);
  });
  const paths = findMyWay({ ignoreTrailingSlash: false, maxParamLength: 300 });
  app.addHook('onReady', async () => {
    for (const [url, methods] of methodsOf) {
      if (!url.includes('*')) paths.on('GET' as HTTPMethod, url, () => {}, [...methods].sort());
    }
  });
  app.setNotFoundHandler((request, reply) => {
    const found = paths.find('GET', pathOf(request));
    if (!found) return sendError(new DomainError('route.not_found'), request, reply);
    reply.header('allow', (found.store as string[]).join(', '));
    return sendError(new DomainError('route.method_not_allowed'), request, reply);
  });
}
