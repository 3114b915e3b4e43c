import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorCode } from '../../domain/errors.js';
import { runInContext } from '../../platform/context.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import { refusalOf, sendError } from '../errors.js';
import type { Operation } from './operation.js';
import { proveAgain } from './proofs.js';

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
 * Returns the error handler of an operation's route. What is wrong with a request is told last (contract §10): only to
 * callers who may make it, and only if the resource in its path exists. That also holds for a body that cannot be read,
 * although it is read before either is known.
 */
export const answerErrors =
  (operation: Operation, services: Services) =>
  async (error: Error, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const code = refusalOf(error, request)?.code;
    const isOfRequest = code !== undefined && ofTheRequest.has(code);
    // Reading a body leaves the request's context.
    const first =
      isOfRequest && (await runInContext(request.context, () => refusalBefore(operation, request, reply, services)));
    // Returned, so that Fastify waits for it: storing it for an `Idempotency-Key` takes a while.
    return reply.sent ? reply : sendError(first || error, request, reply);
  };

/** Returns the error that comes before what is wrong with the request; null if there is none. */
async function refusalBefore(
  { exists }: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  services: Services,
): Promise<unknown> {
  try {
    // A body that cannot be read may have taken long to arrive, and its caller may have lost access meanwhile.
    await proveAgain(request, reply);
    const { authorized, refused, params } = request;
    if (refused) return await refused.refusal();
    // The parameters may not be validated yet, which replaces whatever is not an id.
    if (!authorized || !exists || !request.validateInput(params, 'params')) return null;
    await exists({ services, scope: authorized.scope as EnvironmentScope, caller: authorized.caller, params });
    return null;
  } catch (error) {
    return error;
  }
}
