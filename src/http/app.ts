import fastifyCookie from '@fastify/cookie';
import Fastify, {
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyReply,
  type FastifyServerOptions,
  LogController,
} from 'fastify';
import { DomainError } from '../domain/errors.js';
import type { EventAction } from '../domain/events/catalogue.js';
import { minutes } from '../platform/clock.js';
import { type RequestContext, runInContext } from '../platform/context.js';
import { isUuid } from '../platform/uuid.js';
import { sendError } from './errors.js';
import { type HealthOptions, health } from './health.js';
import { countRequest, type HttpMetrics } from './metrics.js';
import { openApi } from './openapi/index.js';
import { registerEach } from './register-each.js';
import { limitBufferedBytes } from './server/buffered-bytes.js';
import { abortLateRequests } from './server/deadlines.js';
import { createDraining } from './server/draining.js';
import { ignoreTypesOfNothing } from './server/empty-bodies.js';
import { refuseEncodedBodies } from './server/encoded-bodies.js';
import { readForwardedAddresses } from './server/forwarded-for.js';
import { leaveOutUnknownLengths } from './server/head-lengths.js';
import { readJsonBodies } from './server/json-bodies.js';
import { type AtEnd, onRequestEnd } from './server/request-ends.js';
import { answeredId, newRequestId } from './server/request-ids.js';
import { originForm } from './server/request-targets.js';
import { buildSerializer } from './server/serialization.js';
import { type SheddingOptions, shedLoad } from './server/shedding.js';
import { endSpan, traceRequests, withinSpan } from './server/tracing.js';
import { answerUnknownRoutes } from './server/unknown-routes.js';
import { answerUnreadable } from './server/unreadable-requests.js';
import { refuseUnstorableBodies } from './server/unstorable-bodies.js';
import { linkPages } from './surfaces/next-pages.js';
import { usualLimit } from './surfaces/operation.js';
import { proveAgainWhenLate } from './surfaces/proofs.js';
import { validatorCompiler } from './surfaces/validation.js';

export interface AppOptions {
  baseUrl: string;
  logger: FastifyServerOptions['loggerInstance'];
  trustProxy: boolean | string[];
  /**
   * Milliseconds that a request may take, whatever it waits for, plus what it asked to wait for (`waitsMs`). Absent: no
   * limit.
   */
  answerWithinMs?: number;
  health: HealthOptions;
  /** Whether the process will end soon, though it still serves: load balancers are to send requests elsewhere. */
  isStopping?: () => boolean;
  metrics: HttpMetrics;
  /** Absent: nothing is refused because of load. */
  shedding?: SheddingOptions;
  /** The surfaces, each a plugin that brings what it needs. */
  surfaces: FastifyPluginAsync[];
}

declare module 'fastify' {
  interface FastifyRequest {
    context: RequestContext;
  }
  interface FastifyContextConfig {
    /** The events that the route may have recorded when it answers (`operation.ts`). */
    events?: readonly EventAction[];
    /** Milliseconds that it may take beyond any request's time (`operation.ts`). */
    waitsMs?: number;
  }
}

/** Returns the api's HTTP server with every surface, ready to listen or to be injected into. */
export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const { isStopping = () => false } = options;
  const { answerWithinMs = Number.POSITIVE_INFINITY } = options;
  // Longer than any answer takes to begin, and than any request waits for something to happen.
  const silentMs = Math.max(minutes(2), minutes(1) + (Number.isFinite(answerWithinMs) ? answerWithinMs : 0));
  const draining = createDraining({ keepAliveMs: 72_000, requestMs: 60_000, silentMs, isStopping });
  const serverOptions: FastifyServerOptions = {
    ...(options.logger ? { loggerInstance: options.logger } : { logger: false }),
    // Fastify's own lines would hold addresses and query strings; `logEnd` logs what is fit to keep.
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: options.trustProxy,
    bodyLimit: usualLimit,
    rewriteUrl: ({ url = '/' }) => originForm(url),
    genReqId: ({ headers }) =>
      isUuid(headers['x-request-id']) ? String(headers['x-request-id']).toLowerCase() : newRequestId(),
    routerOptions: { maxParamLength: 300, ignoreTrailingSlash: false },
    schemaController: { compilersFactory: { buildSerializer } },
    serverFactory: draining.serverFactory,
    forceCloseConnections: 'idle',
    return503OnClosing: false, // requests that were accepted are answered, and told that the connection ends
    clientErrorHandler: answerUnreadable,
    // A path that cannot be decoded is refused before any hook runs.
    frameworkErrors(error, request, reply) {
      reply.header('x-request-id', answeredId(request));
      secure(reply, options.baseUrl);
      // Longer than any id or slug, so nothing is found.
      const tooLong = error.statusCode === 414;
      return sendError(tooLong ? new DomainError('route.not_found') : error, request, reply);
    },
  };
  const app: FastifyInstance = Fastify(serverOptions);
  app.setValidatorCompiler(validatorCompiler);
  app.setErrorHandler(sendError);
  app.decorateRequest('isCounted', false);
  app.decorateRequest('authorized', null);
  app.decorateRequest('refused', null);
  app.decorateRequest('idempotencyClaim', null);
  app.decorateRequest('elementRefusals', null);
  draining.drain(app);
  if (options.trustProxy) readForwardedAddresses(app);
  traceRequests(app);
  onRequestEnd(app, [endSpan, withinSpan(logEnd), countRequest(options.metrics)]);
  carryContext(app);
  refuseWithoutHost(app);
  abortLateRequests(app, answerWithinMs);
  if (options.shedding) shedLoad(app, options.shedding);
  secureAnswers(app, options.baseUrl);
  answerUnknownRoutes(app);
  app.removeContentTypeParser('text/plain'); // bodies are JSON; routes for forms say so themselves
  refuseEncodedBodies(app);
  ignoreTypesOfNothing(app);
  limitBufferedBytes(app);
  readJsonBodies(app);
  refuseUnstorableBodies(app);
  proveAgainWhenLate(app);
  linkPages(app);
  leaveOutUnknownLengths(app);
  await app.register(fastifyCookie);
  await app.register(openApi, { baseUrl: options.baseUrl });
  await app.register(health, { ...options.health, isStopping });
  await registerEach(app, options.surfaces, {});
  await app.ready();
  return app;
}

/** Runs everything that a request awaits in its context; parsing a body leaves that, so it is entered again. */
function carryContext(app: FastifyInstance) {
  app.addHook('onRequest', (request, reply, done) => {
    request.context = {
      correlationId: request.id,
      actor: { type: 'anonymous', id: null },
      declaredEvents: request.routeOptions.config?.events ?? [],
      outcome: { isUnknown: false },
    };
    reply.header('x-request-id', answeredId(request));
    runInContext(request.context, done);
  });
  app.addHook('preValidation', (request, _reply, done) => runInContext(request.context, done));
}

/** Refuses an empty or repeated Host, and HTTP/1.1 without one (RFC 9112 §3.2); HTTP/1.0 does not need it. */
function refuseWithoutHost(app: FastifyInstance) {
  app.addHook('onRequest', ({ headers: { host }, raw }, _reply, done) => {
    const named = raw.rawHeaders.filter((name, i) => i % 2 === 0 && name.length === 4 && /^host$/i.test(name)).length;
    const isMalformed = named > 1 || host === '' || (host === undefined && raw.httpVersion === '1.1');
    done(isMalformed ? new DomainError('request.malformed') : undefined);
  });
}

function secureAnswers(app: FastifyInstance, baseUrl: string) {
  app.addHook('onSend', (_request, reply, payload, done) => {
    secure(reply, baseUrl);
    // RFC 9110 §15.5.2: every 401 names a scheme, also a page with a form. For this scheme browsers do not prompt.
    if (reply.statusCode === 401 && !reply.hasHeader('www-authenticate')) reply.header('www-authenticate', 'Bearer');
    done(null, payload);
  });
}

/**
 * Sets the security headers of answers, and that no cache stores them, unless a route has set its own; pages have
 * stricter ones.
 */
function secure(reply: FastifyReply, baseUrl: string): void {
  const set = (name: string, value: string) => reply.hasHeader(name) || reply.header(name, value);
  set('x-content-type-options', 'nosniff');
  set('referrer-policy', 'no-referrer');
  // Applications' scripts call by CORS, which is not affected; no answer is an image or a script for other sites.
  set('cross-origin-resource-policy', 'same-origin');
  // This header cannot name origins: a page that may be framed by some says so in its policy.
  const isFramed = /frame-ancestors http/.test(String(reply.getHeader('content-security-policy')));
  if (!isFramed) set('x-frame-options', 'DENY');
  set('content-security-policy', "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  set('cache-control', 'no-store');
  if (baseUrl.startsWith('https:')) set('strict-transport-security', 'max-age=31536000; includeSubDomains');
}

/**
 * Logs one line for each request, with the route's pattern: paths, queries, addresses and agents can hold personal
 * data. Probes without findings come every other second, and would be most of the log.
 */
const logEnd: AtEnd = ({ method, routeOptions, log }, reply, status) => {
  const ms = Math.round(reply.elapsedTime * 10) / 10;
  const level = routeOptions.config?.neverShed && status < 400 ? 'debug' : 'info';
  const words = reply.raw.headersSent ? 'answered' : 'the caller was gone before the answer';
  log[level]({ method, route: routeOptions.url ?? null, status, ms }, words);
};
