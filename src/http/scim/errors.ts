import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError, type ErrorCode } from '../../domain/errors.js';
import { type ScimRefusalKind, ScimRefused } from '../../domain/scim/refusal.js';
import { httpStatusOf } from '../error-statuses.js';
import { reportedRefusalOf } from '../errors.js';
import { setRetryHeaders } from '../surfaces/limit-headers.js';
import { messageSchema } from './urns.js';

export const scimType = 'application/scim+json; charset=utf-8';
const errorSchema = messageSchema('Error');

const statuses: Record<ScimRefusalKind, number> = {
  invalidFilter: 400,
  invalidPath: 400,
  invalidSyntax: 400,
  invalidValue: 400,
  mutability: 400,
  noTarget: 400,
  tooMany: 400,
  uniqueness: 409,
  forbidden: 403,
  notFound: 404,
  notImplemented: 501,
  versionMismatch: 412,
};
const withoutType: readonly ScimRefusalKind[] = ['forbidden', 'notFound', 'notImplemented', 'versionMismatch'];

/** The `scimType` of a refusal that comes from another part of the service. */
const typeOf = (code: ErrorCode): ScimRefusalKind | undefined => {
  if (code === 'identity.email_taken' || code === 'identity.external_id_taken') return 'uniqueness';
  if (code === 'body.malformed') return 'invalidSyntax';
  return code === 'validation.failed' ? 'invalidValue' : undefined;
};

interface ScimFailure {
  status: number;
  type: string | undefined;
  detail: string;
}

function failureOf(refusal: DomainError | ScimRefused): ScimFailure {
  if (refusal instanceof ScimRefused) {
    const type = withoutType.includes(refusal.kind) ? undefined : refusal.kind;
    return { status: statuses[refusal.kind], type, detail: refusal.detail };
  }
  const [first] = refusal.options.details ?? [];
  const detail = first
    ? [`${refusal.message}:`, first.field, first.message].filter((part) => part !== '').join(' ')
    : refusal.message;
  return { status: httpStatusOf(refusal.code), type: typeOf(refusal.code), detail };
}

/** Answers an error in the form of RFC 7644 §3.12. */
export function sendScimError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = error instanceof ScimRefused ? error : reportedRefusalOf(error, request);
  const { status, type, detail } = refusal
    ? failureOf(refusal)
    : { status: 500, type: undefined, detail: 'Something went wrong on our side' };
  if (refusal instanceof DomainError) setRetryHeaders(reply, refusal);
  return reply
    .code(status)
    .type(scimType)
    .serializer(JSON.stringify)
    .send({ schemas: [errorSchema], status: String(status), ...(type && { scimType: type }), detail });
}
