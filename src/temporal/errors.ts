import {
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, NamespaceNotFoundError } from '@temporalio/common';
import { DomainError, isErrorCode } from '../domain/errors.js';

/** Seconds after which a retry makes sense. */
const retryAfter = 5;

/**
 * The gRPC codes that are about the request itself. Every other code is an outage, including a wrong API key,
 * FAILED_PRECONDITION (9), when our namespace is being deleted, and NOT_FOUND (5): the SDK has its own error for an
 * unknown workflow. As the answer to an update with start, NOT_FOUND means that our namespace is gone, or that the
 * workflow ended between the two, which the next try sees.
 */
const aboutTheRequest = new Set([3, 6, 11, 12]);
const invalidArgument = 3;
const alreadyExists = 6;

/** The server's type for the failure of an update whose workflow ended before it answered. */
const closedMeanwhile = 'AcceptedUpdateCompletedWorkflow';

/** Returns what a failed call to Temporal means for the domain: a rule's refusal, an outage, or the error itself. */
export function processError(error: unknown): unknown {
  if (error instanceof WorkflowUpdateFailedError) return refusal(error);
  if (isTemporalUnavailable(error)) return new DomainError('service.unavailable', { retryAfter, cause: error });
  return error;
}

/** Returns whether the workflow with the id has run and ended, so that it is not started again. */
export const hasEnded = (error: unknown): boolean =>
  error instanceof WorkflowExecutionAlreadyStartedError ||
  error instanceof WorkflowNotFoundError ||
  grpcCode(error) === alreadyExists;

/** Returns whether Temporal itself is unavailable, and not a workflow's work undone. */
export function isTemporalUnavailable(error: unknown): boolean {
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || error instanceof NamespaceNotFoundError) return true;
  const refused = grpcErrorOf(error);
  return refused !== undefined && (!aboutTheRequest.has(refused.code) || lacksSearchAttributes(refused));
}

/**
 * Returns whether the server lacks our search attributes: a new server or namespace knows them only some time after a
 * worker has created them. gRPC has no code for that.
 */
const lacksSearchAttributes = ({ code, message }: { code: number; message: string }): boolean =>
  code === invalidArgument && /search attribute/i.test(message);

/** Returns the name of the gRPC code because of which Temporal is considered unavailable. */
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
 * Returns the refusal of a workflow or its activity. A workflow that was stopped, or ended otherwise, before it
 * answered has not refused anything: that is an outage. So is a code that only a newer worker knows, or the reason of a
 * person who fails a step by hand.
 */
function refusal(error: WorkflowUpdateFailedError): Error {
  const { cause } = error;
  // If one of its activities was stopped, this is an ActivityFailure with that cause.
  const isStopped = cause instanceof CancelledFailure || cause?.cause instanceof CancelledFailure;
  if (isStopped || (cause instanceof ApplicationFailure && cause.type === closedMeanwhile))
    return new DomainError('service.unavailable', { retryAfter, cause });
  if (!(cause instanceof ApplicationFailure) || isFault(cause)) return error;
  const code = isErrorCode(cause.type) ? cause.type : 'service.unavailable';
  return new DomainError(code, code === 'service.unavailable' ? { retryAfter, cause } : { cause });
}

/** Whether it is a bug in our code, such as a TypeError. Temporal gives failures without a type the type `Error`. */
const isFault = ({ type }: ApplicationFailure): boolean => /\wError$/.test(type ?? '');
