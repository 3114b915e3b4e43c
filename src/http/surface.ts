import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TProperties } from 'typebox';
import type { Caller } from '../domain/caller.js';
import type { ErrorCode } from '../domain/errors.js';
import type { EnvironmentScope } from '../platform/scope.js';
import type { Operation } from './operation.js';

/** An API that offers operations, and how its callers show that they may use them. */
export interface Surface {
  name: string;
  pathOf(operation: Operation): string;
  /** Schema of the parameters that the surface's own path part has. */
  paramsOf(operation: Operation): TProperties;
  security: Record<string, string[]>[];
  /** What callers need: in words, and as the document's `x-permission` or `x-capability`. */
  describe(operation: Operation): { text: string; [extension: `x-${string}`]: unknown };
  /** The codes with which `authorize` may refuse this operation. */
  refusals(operation: Operation): readonly ErrorCode[];
  /** Checks the credential and the right. Throws the 401, 403 or 404, or answers it as `Refused`. */
  authorize(operation: Operation, request: FastifyRequest, reply: FastifyReply): Promise<Authorized | Refused>;
}

export interface Authorized {
  caller: Caller;
  /** As far as the operation's level has it. */
  scope: Partial<EnvironmentScope> & { accountId: string };
  /** Identifies the credential, for its idempotency keys. */
  credential: string;
}

/**
 * A known caller who may not do what they ask for. If they could before, the retry of such a request is still answered.
 */
export interface Refused {
  credential: string;
  /** Records the refusal where it has to be, and makes the error. */
  refusal(): Promise<Error>;
}

declare module 'fastify' {
  interface FastifyRequest {
    authorized: Authorized | null;
    refused: Refused | null;
  }
}
