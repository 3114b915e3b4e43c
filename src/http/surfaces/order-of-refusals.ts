import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorCode } from '../../domain/errors.js';
import { runInContext } from '../../platform/context.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import { refusalOf, sendError } from '../errors.js';
import type { Operation } from './operation.js';

/** What can be wrong with a request itself, whoever sends it and whatever it is about. */
const ofTheRequest: ReadonlySet<ErrorCode> = new Set([
  'validation.failed',
  'body.malformed',
  'body.too_large',
  'body.unsupported_encoding',
  'body.unsupported_media_type',
  'if_match.required',
  'if_match.invalid',
  'idempotency.key_invalid',
]);

/**
 * Returns the error handler of an operation's route. What is wrong with a request is told last (contract §10): to
 * callers who may make it, and if the resource in its path exists. That also holds for a body that cannot be read,
 * since it is read before either is known.
 */
export const answerErrors =
  (operation: Operation, services: Services) =>
  async (error: Error, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const refusal = refusalOf(error, request);
    if (refusal && ofTheRequest.has(refusal.code)) {
      // Reading a body leaves the request's context.
      await runInContext(request.context, () => refuseFirst(operation, request, services));
    }
    // Returned, so that Fastify waits for it: storing it for an `Idempotency-Key` takes a while.
    return reply.sent ? reply : sendError(error, request, reply);
  };

/** Throws the refusal that comes before what is wrong with the request, if there is one. */
async function refuseFirst({ exists }: Operation, request: FastifyRequest, services: Services): Promise<void> {
  const { authorized, refused, params } = request;
  if (refused) throw await refused.refusal();
  // The parameters may not be validated yet, which replaces what is no id.
  if (!authorized || !exists || !request.validateInput(params, 'params')) return;
  await exists({ services, scope: authorized.scope as EnvironmentScope, caller: authorized.caller, params });
}
