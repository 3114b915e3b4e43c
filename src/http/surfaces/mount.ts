import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { actorOf } from '../../domain/caller.js';
import { DomainError, type ErrorCode } from '../../domain/errors.js';
import { currentContext, inShareOf } from '../../platform/context.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import { httpStatusOf } from '../error-statuses.js';
import { whileSent } from '../server/while-sent.js';
import { elementRefusals } from './bulk-items.js';
import { recordDenial } from './denials.js';
import { keyOf, mayBeRetry, replay, replayOrClaim, storeAnswers } from './idempotency.js';
import { assertNoVersion, etagOf, versionOf } from './if-match.js';
import { withTrimmedSearch } from './lists.js';
import { Answer, type Operation, usualLimit } from './operation.js';
import { answerErrors } from './order-of-refusals.js';
import { type Prove, proveAgain, proving, whileProved } from './proofs.js';
import type { Authorized, Refused, Surface } from './surface.js';
import { schemaOf, successOf } from './surface-schema.js';

/** Mounts operations on a surface, one route each; refusals come in the order 401, 403, 404, 400 (contract §10). */
export function mount(
  app: FastifyInstance,
  surface: Surface,
  operations: readonly Operation[],
  services: Services,
): void {
  for (const operation of operations) {
    app.route({
      method: operation.method,
      url: surface.pathOf(operation),
      schema: schemaOf(operation, surface),
      config: {
        events: operation.events ?? [],
        waitsMs: operation.waitsMs ?? 0,
        eachAlone: operation.eachAlone,
      },
      attachValidation: true,
      ...(operation.bodyLimit !== undefined && { bodyLimit: operation.bodyLimit }),
      // A request takes its turn once, even if the caller's credential is checked again later.
      onRequest: [proving(authorizing(surface, operation, services)), queueForLargeBody(operation, services)],
      // Most requests are valid and have no key, so they need no asynchronous step.
      preHandler: (request, reply, done) =>
        isPlain(operation, request) ? done() : beforeHandling(operation, request, reply, services),
      onSend: storeAnswers(services.idempotentRequests),
      handler: handlerOf(operation, services),
      errorHandler: answerErrors(operation, services),
    });
  }
}

const authorizing =
  (surface: Surface, operation: Operation, services: Services): Prove =>
  async (request, reply) => {
    const outcome = await surface.authorize(operation, request, reply);
    const isRefused = 'refusal' in outcome;
    request.refused = isRefused ? await refuseUnlessRetry(operation, outcome, request, services) : null;
    if (isRefused) return;
    request.authorized = outcome;
    inShareOf(outcome.scope.accountId);
    currentContext().actor = actorOf(outcome.caller);
  };

/**
 * Makes a request with a body over the usual limit wait for a turn, which lasts until it is answered: many at once
 * would run out of time, and be refused after part of their work was done.
 */
const queueForLargeBody =
  ({ bodyLimit = usualLimit }: Operation, { largeBodies }: Services) =>
  async ({ authorized, refused, headers }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (!authorized || refused) return;
    if (bodyLimit <= usualLimit || Number(headers['content-length'] ?? bodyLimit) <= usualLimit) return;
    await whileSent(largeBodies, authorized.scope.accountId, reply, async () => undefined);
  };

const isPlain = (operation: Operation, request: FastifyRequest): boolean =>
  !request.refused &&
  !request.validationError &&
  !operation.ifMatch &&
  request.headers['if-match'] === undefined &&
  request.headers['idempotency-key'] === undefined &&
  surplusOf(operation, request.body).length === 0;

/**
 * Returns what was sent to an operation without a body: unknown fields, like any undeclared ones (contract §1), or the
 * empty path for a value that is not an object. An empty list is what some languages make of an empty object.
 */
function surplusOf(operation: Operation, body: unknown): string[] {
  if (operation.body || body == null) return [];
  if (typeof body !== 'object' || (Array.isArray(body) && body.length > 0)) return [''];
  return Object.keys(body);
}

/** @returns the reply, if it was sent already */
async function beforeHandling(
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  services: Services,
): Promise<FastifyReply | undefined> {
  if (request.refused) {
    const { credential, refusal } = request.refused;
    if (await replay(services.idempotentRequests, credential, request, reply)) return reply;
    throw await refusal();
  }
  refuseInvalid(operation, request);
  const { credential } = request.authorized as Authorized;
  return (await replayOrClaim(services.idempotentRequests, credential, request, reply)) ? reply : undefined;
}

/**
 * Returns the refusal if the request may be a retry, or else throws it. Only the body tells whether it is one, and it
 * is only read if the caller has used this key before.
 */
async function refuseUnlessRetry(
  { retriedWithoutAccess }: Operation,
  refused: Refused,
  request: FastifyRequest,
  { idempotentRequests }: Services,
): Promise<Refused> {
  if (retriedWithoutAccess && (await mayBeRetry(idempotentRequests, refused.credential, request))) return refused;
  throw await refused.refusal();
}

/** The methods with which two writers can overwrite each other's changes. */
const overwriting: ReadonlySet<string> = new Set(['PATCH', 'PUT']);

/** Refuses an invalid request. */
function refuseInvalid(operation: Operation, request: FastifyRequest): void {
  const { validationError } = request;
  if (operation.eachAlone !== undefined) request.elementRefusals = elementRefusals(request, operation.eachAlone);
  if (validationError && !request.elementRefusals) throw validationError;
  const surplus = surplusOf(operation, request.body).slice(0, 20);
  if (surplus.length > 0) {
    const details = surplus.map((field) => ({ field, code: 'unknown_field', message: 'this takes no body' }));
    throw new DomainError('validation.failed', { details });
  }
  if (operation.ifMatch) versionOf(request.headers['if-match']);
  else if (overwriting.has(operation.method)) assertNoVersion(request.headers['if-match']);
  keyOf(request);
}

function handlerOf(operation: Operation, services: Services) {
  const usualStatus = successOf(operation);
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const version = operation.ifMatch ? versionOf(request.headers['if-match']) : 0;
    const refusals = request.elementRefusals ?? new Map();
    const context = { ...contextOf(request, services), version, refusals };
    const make = () => handled(operation, context, request);
    const { heavyAnswers } = services;
    const outcome = operation.isHeavy
      ? await whileSent(heavyAnswers, context.scope.accountId, reply, make)
      : await make();
    const { status, headers, body: answer } = outcome instanceof Answer ? outcome : new Answer(usualStatus, outcome);
    const payload = status === 204 ? undefined : await answerIfStillAllowed(operation, answer, request, reply);
    const resourceVersion = (answer as { data?: { version?: number } } | undefined)?.data?.version;
    if (resourceVersion !== undefined) reply.header('etag', etagOf(resourceVersion));
    return reply.code(status).headers(headers).send(payload);
  };
}

/**
 * Checks the caller's rights again if the operation waited for something, or while its answer is streamed. For HEAD, a
 * streamed answer is destroyed at once: Fastify would produce all of it.
 */
async function answerIfStillAllowed(
  { waitsMs }: Operation,
  answer: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  if (answer instanceof Readable && request.method === 'HEAD') return void answer.destroy();
  if (answer instanceof Readable) return whileProved(answer, request, reply);
  if (waitsMs) await proveAgain(request, reply);
  return answer;
}

/**
 * Runs the handler. If it finds that the caller lacks a right, even for one of many items, that is recorded as an audit
 * row like any other 403 (contract §10).
 */
async function handled(
  operation: Operation,
  context: Parameters<Operation['handle']>[0],
  { authorized }: FastifyRequest,
): Promise<unknown> {
  const { services, scope, query } = context;
  try {
    if (operation.isBroad?.(query)) return await services.broadReads(() => operation.handle(context), scope.accountId);
    const answer = await operation.handle(context);
    const refused = operation.method !== 'GET' && firstRefused(answer);
    if (refused) await recordDenial(services.db, authorized as Authorized, operation.id, refused);
    return answer;
  } catch (error) {
    if (!(error instanceof DomainError && httpStatusOf(error.code) === 403)) throw error;
    throw await recordDenial(context.services.db, authorized as Authorized, operation.id, error);
  }
}

/** Returns the first 403 among items that are answered one by one. */
function firstRefused(answer: unknown): DomainError | null {
  const { items = [] } = (answer ?? {}) as { items?: { error?: { code: ErrorCode } | null }[] };
  const found = items.find(({ error }) => error && httpStatusOf(error.code) === 403)?.error;
  return found ? new DomainError(found.code) : null;
}

function contextOf({ authorized, params, query, body }: FastifyRequest, services: Services) {
  const { caller, scope } = authorized as Authorized;
  return {
    services,
    scope: scope as EnvironmentScope,
    caller,
    params,
    query: withTrimmedSearch(query),
    body,
    version: 0,
    refusals: new Map(),
  };
}
