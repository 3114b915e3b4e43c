import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import findMyWay, { type HTTPMethod } from 'find-my-way';
import { DomainError } from '../domain/errors.js';
import { pathOf, sendError } from './errors.js';
import { sendOAuthRefusal } from './oauth/oauth-error.js';
import { sendErrorPage } from './pages/error-page.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Why there is no route for a request; says in `Allow` which methods its path takes. */
    refusalOfUnknown(request: FastifyRequest, reply: FastifyReply): DomainError;
  }
}

/**
 * 404 for an unknown path, and 405 with `Allow` for a known one that does not take the method (RFC 9110 §15.5.6), whatever its
 * body is. The surface that the path would be of gives the answer its form; a browser is shown a page where people come by hand.
 * Unknown is also what leaves a parameter of a known path empty, as `/identities/` does: the router would take it for `/identities/:id`.
 */
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
  const refusal = (request: FastifyRequest, reply: FastifyReply): DomainError => {
    const found = paths.find('GET', pathOf(request));
    if (!found || leavesOneEmpty(found.params)) return new DomainError('route.not_found');
    reply.header('allow', (found.store as string[]).join(', '));
    return new DomainError('route.method_not_allowed');
  };
  app.decorate('refusalOfUnknown', refusal);
  // Before anybody asks who may: there is nothing that they could be asking for.
  app.addHook('onRequest', ({ params }, _reply, done) =>
    done(leavesOneEmpty(params) ? new DomainError('route.not_found') : undefined),
  );
  // After whoever asks has been looked at, and before a body is: it may be of any type and length, and is not read.
  app.addHook('preParsing', async (request, reply) => {
    if (!request.is404) return;
    const refused = refusal(request, reply);
    if (isOpenedByHand(request)) return void (await sendErrorPage(request, reply, refused));
    // Where there is an endpoint, its errors are RFC 6749's (contract §1); elsewhere nobody expects those.
    const isEndpoint = refused.code === 'route.method_not_allowed' && pathOf(request).startsWith('/oauth/');
    if (!isEndpoint) throw refused;
    await sendOAuthRefusal(reply, refused);
  });
  app.setNotFoundHandler((request, reply) => sendError(refusal(request, reply), request, reply));
}

/** Of parameters with a name: `*` is whatever comes behind a path, nothing as well. */
function leavesOneEmpty(params: unknown): boolean {
  const values = params as Record<string, string | undefined>;
  for (const name in values) if (values[name] === '' && name !== '*') return true;
  return false;
}

/** Whether somebody has opened it in a browser: an address that they have typed, kept or cut short, where there are pages. */
function isOpenedByHand(request: FastifyRequest): boolean {
  const path = pathOf(request);
  const hasPages = path === '/' || /^\/(?:oauth|sso)(?:\/|$)/.test(path);
  return hasPages && /\btext\/html\b/i.test(request.headers.accept ?? '');
}
