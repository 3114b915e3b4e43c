import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { DomainError, type ErrorDetail, unstorable } from '../domain/errors.js';
import { driverErrorOf } from '../platform/database/postgres-errors.js';
import { isOutage } from '../platform/outages.js';
import { httpStatusOf, shownCode } from './error-statuses.js';
import { placeOfUnstorable } from './server/unstorable-bodies.js';
import { setRetryHeaders } from './surfaces/limit-headers.js';
import { lostRaceOf } from './surfaces/lost-races.js';
import { Nullable, Resource } from './surfaces/schemas.js';
import { detailsOf } from './surfaces/validation.js';

/** One field, and what is wrong with it. */
export const ErrorDetailView = Resource('ErrorDetail', {
  field: Type.String(),
  code: Type.String(),
  message: Type.String(),
});

export const ErrorEnvelope = Type.Object({
  error: Type.Object({
    statusCode: Type.Integer(),
    code: Nullable(Type.String()),
    message: Type.String(),
    timestamp: Type.String({ format: 'date-time' }),
    path: Type.String(),
    method: Type.String(),
    details: Type.Optional(Type.Array(ErrorDetailView)),
  }),
});

/** Returns the specification's error envelope; `path` is without the query, which may hold a token. */
export function envelope(
  { path, method }: { path: string; method: string },
  error: DomainError | { statusCode: number; message: string },
) {
  const refusal = error instanceof DomainError ? error : null;
  const details = refusal?.options.details;
  return {
    error: {
      statusCode: refusal ? httpStatusOf(refusal.code) : (error as { statusCode: number }).statusCode,
      code: refusal && shownCode(refusal.code),
      message: error.message,
      timestamp: new Date().toISOString(),
      path,
      method,
      ...(details && { details }),
    },
    ...(refusal?.options.current !== undefined && { data: refusal.options.current }),
  };
}

/** HEAD is answered with the length of GET's body (RFC 9110 §8.6), so its own, which is never sent, names GET, too. */
const asked = (request: FastifyRequest) => ({
  path: pathOf(request),
  method: request.method === 'HEAD' ? 'GET' : request.method,
});

export const pathOf = (request: FastifyRequest): string => request.url.split('?', 1)[0] as string;

/**
 * Turns an error of a handler or of Fastify into a refusal that the caller can act on; null if it is our own fault.
 * @param request names the field that could not be stored, for surfaces that say so
 */
export function refusalOf(error: unknown, request?: FastifyRequest): DomainError | null {
  if (error instanceof DomainError) return error;
  if (isOutage(error)) return new DomainError('service.unavailable', { retryAfter: 5, cause: error });
  const lostRace = lostRaceOf(error);
  if (lostRace) return lostRace;
  const { code = '', validation, validationContext, statusCode } = error as Partial<FastifyError>;
  if (validation) {
    return new DomainError('validation.failed', { details: detailsOf(validation, validationContext) });
  }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new DomainError('body.too_large');
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new DomainError('body.unsupported_media_type');
  if (code === 'FST_STATIC_FORBIDDEN_PATH') return new DomainError('route.not_found'); // `..`, as scanners send it
  if (code === 'FST_ERR_BAD_URL') return new DomainError('validation.failed', { details: [undecodable], cause: error });
  if (statusCode === 400) return new DomainError('body.malformed', { cause: error });
  // Class 22, data exception: a text that PostgreSQL cannot store, such as one with a NUL character.
  if (/^22/.test(driverErrorOf(error)?.code ?? '')) {
    const field = request ? placeOfUnstorable(request) : '';
    return new DomainError('validation.failed', { details: [{ ...unstorable, field }], cause: error });
  }
  return null;
}

const undecodable: ErrorDetail = { field: 'path', code: 'encoding', message: 'is not percent-encoded UTF-8' };

/**
 * Like `refusalOf`, for the error handler of a surface: logs a fault of ours, or an outage. Without a cause the reason
 * is load, which is only counted: a line for each request would add to it. A caller who leaves in the middle of a body
 * is not an outage.
 */
export function reportedRefusalOf(error: unknown, request: FastifyRequest): DomainError | null {
  const { log, raw } = request;
  const refusal = refusalOf(error, request);
  const cause = refusal && httpStatusOf(refusal.code) === 503 ? refusal.options.cause : null;
  if (!refusal) log.error({ err: error }, 'unexpected error');
  else if (cause && cause !== raw.errored) log.warn({ err: cause }, 'unavailable');
  return refusal;
}

/** Answers an error as JSON, with the headers that belong to its status. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = reportedRefusalOf(error, request);
  if (refusal) setRetryHeaders(reply, refusal);
  const body = envelope(asked(request), refusal ?? { statusCode: 500, message: 'Something went wrong on our side' });
  return reply.code(body.error.statusCode).send(body);
}
