import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import findMyWay, { type HTTPMethod } from 'find-my-way';
import { DomainError } from '../../domain/errors.js';
import { isUuid } from '../../platform/uuid.js';
import { pathOf, sendError } from '../errors.js';
import { sendOAuthRefusal } from '../oauth/oauth-error.js';
import { sendErrorPage } from '../pages/error-page.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Returns why there is no route for a request; sets `Allow` to the methods that its path has. */
    refusalOfUnknown(request: FastifyRequest, reply: FastifyReply): DomainError;
  }
}

/**
 * Answers 404 for an unknown path, and 405 with `Allow` for a known path without this method (RFC 9110 §15.5.6),
 * whatever the body is. The surface to which the path would belong decides the answer's form; a browser gets a page
 * below paths that people open by hand. The router itself would match two kinds of such paths to `/identities/:id`:
 * `/identities/`, whose parameter is empty, and `DELETE /identities/summary`, a known path without this method.
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
      if (!url.includes('*')) paths.on('GET' as HTTPMethod, url, () => {}, { url, methods: [...methods].sort() });
    }
  });
  const refusal = (request: FastifyRequest, reply: FastifyReply): DomainError => {
    const found = paths.find('GET', pathOf(request));
    if (!found || leavesOneEmpty(found.params)) return new DomainError('route.not_found');
    reply.header('allow', (found.store as KnownPath).methods.join(', '));
    return new DomainError('route.method_not_allowed');
  };
  app.decorate('refusalOfUnknown', refusal);
  // Before the caller is authenticated: there is nothing for which they could need a right.
  app.addHook('onRequest', (request, reply, done) => {
    const { params } = request;
    if (leavesOneEmpty(params)) return done(new DomainError('route.not_found'));
    const { id } = params as { id?: string };
    // A UUID is never part of a declared path, so nearly every request needs no look-up.
    if (id === undefined || isUuid(id)) return done();
    const found = paths.find('GET', pathOf(request))?.store as KnownPath | undefined;
    done(!found || found.url === request.routeOptions.url ? undefined : refusal(request, reply));
  });
  // After the caller was authenticated, and before the body is read: it may have any type and length.
  app.addHook('preParsing', async (request, reply) => {
    if (!request.is404) return;
    const refused = refusal(request, reply);
    if (isOpenedByHand(request)) return void (await sendErrorPage(request, reply, refused));
    // An OAuth endpoint answers with RFC 6749's errors (contract §1); elsewhere no client expects them.
    const isEndpoint = refused.code === 'route.method_not_allowed' && pathOf(request).startsWith('/oauth/');
    if (!isEndpoint) throw refused;
    await sendOAuthRefusal(reply, refused);
  });
  app.setNotFoundHandler((request, reply) => sendError(refusal(request, reply), request, reply));
}

/** A path as it is declared, and the methods that it has. */
interface KnownPath {
  url: string;
  methods: string[];
}

/** Returns whether a named parameter is empty; `*`, the rest of a path, may be. */
function leavesOneEmpty(params: unknown): boolean {
  const values = params as Record<string, string | undefined>;
  for (const name in values) if (values[name] === '' && name !== '*') return true;
  return false;
}

/** Returns whether a person opened the URL in a browser (typed, bookmarked or cut short), below a path with pages. */
function isOpenedByHand(request: FastifyRequest): boolean {
  const path = pathOf(request);
  const hasPages = path === '/' || /^\/(?:oauth|sso)(?:\/|$)/.test(path);
  return hasPages && /\btext\/html\b/i.test(request.headers.accept ?? '');
}
