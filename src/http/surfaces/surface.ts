import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TProperties } from 'typebox';
import type { Caller } from '../../domain/caller.js';
import type { ErrorCode } from '../../domain/errors.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Operation } from './operation.js';

/** An API that offers operations, and how its callers prove that they may use them. */
export interface Surface {
  name: string;
  pathOf(operation: Operation): string;
  /** Returns the schema of the parameters in the surface's own part of the path. */
  paramsOf(operation: Operation): TProperties;
  security: Record<string, string[]>[];
  /** Returns what callers need: in words, and as the document's `x-permission` or `x-capability`. */
  describe(operation: Operation): { text: string; [extension: `x-${string}`]: unknown };
  /** Returns the codes with which `authorize` may refuse this operation. */
  refusals(operation: Operation): readonly ErrorCode[];
  /** Checks the credential and the right; throws the 401, 403 or 404, or returns it as `Refused`. */
  authorize(operation: Operation, request: FastifyRequest, reply: FastifyReply): Promise<Authorized | Refused>;
}

export interface Authorized {
  caller: Caller;
  /** Has the ids that the operation's level has. */
  scope: Partial<EnvironmentScope> & { accountId: string };
  /** Identifies the credential, to which idempotency keys belong. */
  credential: string;
}

/**
 * A known caller who may not do what they ask for. The retry of a request that they were allowed to make is still
 * answered.
 */
export interface Refused {
  credential: string;
  /** Records the refusal if that is required, and returns the error. */
  refusal(): Promise<Error>;
}

declare module 'fastify' {
  interface FastifyRequest {
    authorized: Authorized | null;
    refused: Refused | null;
  }
}
