import {
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, NamespaceNotFoundError } from '@temporalio/common';
import { DomainError, isErrorCode } from '../domain/errors.js';

/** Seconds after which it is worth asking again. */
const retryAfter = 5;

/**
 * gRPC answers that say something about the request itself; every other one is an outage, a wrong API key included, and so are
 * FAILED_PRECONDITION (9), our namespace is being deleted, and NOT_FOUND (5): the SDK has an error of its own for a workflow that is not
 * found, but as an update with a start is answered, our namespace is gone, or the workflow ended between the two and is seen at the next try.
 */
const aboutTheRequest = new Set([3, 6, 11, 12]);
const invalidArgument = 3;
const alreadyExists = 6;

/** What the server calls the failure of an update whose workflow ended before it answered. */
const closedMeanwhile = 'AcceptedUpdateCompletedWorkflow';

/** What a failed call to Temporal means to the domain: a rule's refusal, an outage, or the error itself. */
export function processError(error: unknown): unknown {
  if (error instanceof WorkflowUpdateFailedError) return refusal(error);
  if (isTemporalAway(error)) return new DomainError('service.unavailable', { retryAfter, cause: error });
  return error;
}

/** Whether the workflow of that id has run and ended, so that it is not started again. */
export const hasEnded = (error: unknown): boolean =>
  error instanceof WorkflowExecutionAlreadyStartedError ||
  error instanceof WorkflowNotFoundError ||
  grpcCode(error) === alreadyExists;

/** Whether Temporal itself is away, rather than a workflow's work undone. */
export function isTemporalAway(error: unknown): boolean {
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || error instanceof NamespaceNotFoundError) return true;
  const refused = grpcErrorOf(error);
  return refused !== undefined && (!aboutTheRequest.has(refused.code) || lacksSearchAttributes(refused));
}

/**
 * A server, or a namespace, that is new knows our search attributes only some time after a worker has made them. gRPC has no code for
 * that.
 */
const lacksSearchAttributes = ({ code, message }: { code: number; message: string }): boolean =>
  code === invalidArgument && /search attribute/i.test(message);

/** How Temporal has answered, in gRPC's word for it: why it counts as away. */
export const grpcStatusOf = (error: unknown): string | undefined =>
  statuses[grpcCode((error as { options?: { cause?: unknown } })?.options?.cause) ?? 0];

const statuses: Record<number, string> = {
  4: 'DEADLINE_EXCEEDED',
  5: 'NOT_FOUND',
  7: 'PERMISSION_DENIED',
  8: 'RESOURCE_EXHAUSTED',
  9: 'FAILED_PRECONDITION',
  13: 'INTERNAL',
  14: 'UNAVAILABLE',
  16: 'UNAUTHENTICATED',
};

const grpcCode = (error: unknown): number | undefined => grpcErrorOf(error)?.code;

function grpcErrorOf(error: unknown) {
  if (isGrpcServiceError(error)) return error;
  const cause = (error as { cause?: unknown })?.cause;
  return isGrpcServiceError(cause) ? cause : undefined;
}

/**
 * The code that the workflow or its activity refused with. One that was stopped, or ended otherwise, while it worked on the answer has not
 * refused: it has none. Nor is a code that only a newer worker knows one here, or what somebody says who fails a step by hand.
 */
function refusal(error: WorkflowUpdateFailedError): Error {
  const { cause } = error;
  // A step of it that was stopped is an ActivityFailure with that cause.
  const isStopped = cause instanceof CancelledFailure || cause?.cause instanceof CancelledFailure;
  if (isStopped || (cause instanceof ApplicationFailure && cause.type === closedMeanwhile))
    return new DomainError('service.unavailable', { retryAfter, cause });
  if (!(cause instanceof ApplicationFailure) || isFault(cause)) return error;
  const code = isErrorCode(cause.type) ? cause.type : 'service.unavailable';
  return new DomainError(code, code === 'service.unavailable' ? { retryAfter, cause } : { cause });
}

/** A fault of our own code, such as a TypeError. An `Error` is how Temporal calls whatever it is told no type of. */
const isFault = ({ type }: ApplicationFailure): boolean => /\wError$/.test(type ?? '');
