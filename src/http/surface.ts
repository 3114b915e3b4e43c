import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TProperties } from 'typebox';
import type { Caller } from '../domain/caller.js';
import type { ErrorCode } from '../domain/errors.js';
import type { EnvironmentScope } from '../platform/scope.js';
import type { Operation } from './operation.js';

/** Where operations are offered, and how their callers prove that they may. */
export interface Surface {
  name: string;
  pathOf(operation: Operation): string;
  /** Schema of the parameters that the surface's own path part has. */
  paramsOf(operation: Operation): TProperties;
  security: Record<string, string[]>[];
  /** What it asks of its callers: in words, and as the document's `x-permission` or `x-capability`. */
  describe(operation: Operation): { text: string; [extension: `x-${string}`]: unknown };
  /** What `authorize` may refuse this operation with. */
  refusals(operation: Operation): readonly ErrorCode[];
  /** Proves the credential and the right. Throws the 401, 403 or 404 that belongs to it, or answers what it would throw. */
  authorize(operation: Operation, request: FastifyRequest, reply: FastifyReply): Promise<Authorized | Refused>;
}

export interface Authorized {
  caller: Caller;
  /** As much of it as the operation's level has. */
  scope: Partial<EnvironmentScope> & { accountId: string };
  /** Names the credential, for its idempotency keys. */
  credential: string;
}

/** A proved caller who may not do what they ask for; a retry of what they might do then is answered all the same. */
export interface Refused {
  credential: string;
  /** Writes the refusal down where it is to be, and makes it. */
  refusal(): Promise<Error>;
}

declare module 'fastify' {
  interface FastifyRequest {
    authorized: Authorized | null;
    refused: Refused | null;
  }
}
