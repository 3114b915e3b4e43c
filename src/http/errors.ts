import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { DomainError, type ErrorCode, type ErrorDetail, unstorable } from '../domain/errors.js';
import { driverErrorOf } from '../platform/database/postgres-errors.js';
import { isOutage } from '../platform/outages.js';
import { placeOfUnstorable } from './server/unstorable-bodies.js';
import { tellWhen } from './surfaces/limit-headers.js';
import { lostRaceOf } from './surfaces/lost-races.js';
import { Nullable, Resource } from './surfaces/schemas.js';
import { detailsOf } from './surfaces/validation.js';

/** The status of every refusal; the compiler demands one for each new code. */
const statuses: Record<ErrorCode, number> = {
  'auth.multiple_credentials': 400,
  'auth.invalid_credentials': 401,
  'auth.reauthentication_required': 403,
  'account.capability_required': 403,
  'account.confirmation_required': 400,
  'account.has_applications': 409,
  'account.not_found': 404,
  'account.owner_required': 403,
  'account.other_sign_in_required': 403,
  'account.password_required': 403,
  'account.slug_taken': 409,
  'account.sso_required': 403,
  'account.sso_unavailable': 409,
  'account.limit_reached': 409,
  'account_intent.not_failed': 409,
  'account_intent.not_found': 404,
  'admin_sso.not_available': 404,
  'administrator_invite.already_pending': 409,
  'administrator_invite.not_found': 404,
  'administrator_invite.not_pending': 409,
  'administrator_invite.role_deleted': 409,
  'administrator_role.built_in': 409,
  'administrator_role.cannot_grant': 403,
  'administrator_role.in_use': 409,
  'administrator_role.name_taken': 409,
  'administrator_role.not_found': 404,
  'api_key.cannot_grant': 403,
  'api_key.expired': 409,
  'api_key.not_found': 404,
  'api_key.scope_required': 403,
  'application.confirmation_required': 400,
  'application.not_found': 404,
  'application.slug_taken': 409,
  'application.limit_reached': 409,
  'audit.row_not_found': 404,
  'body.too_large': 413,
  'body.malformed': 400,
  'body.unsupported_encoding': 415,
  'body.unsupported_media_type': 415,
  'captcha.failed': 400,
  'changes.cursor_expired': 410,
  'changes.cursor_invalid': 400,
  'email_change.address_taken': 409,
  'email_change.code_invalid': 400,
  'email_change.domain_managed': 403,
  'email_change.link_invalid': 400,
  'email_change.managed': 403,
  'email_change.not_found': 404,
  'email_change.password_required': 400,
  'email_change.unchanged': 409,
  'environment.confirmation_required': 400,
  'environment.not_found': 404,
  'environment.slug_taken': 409,
  'environment.limit_reached': 409,
  'environment.unknown_slug': 400,
  'idempotency.key_invalid': 400,
  'idempotency.key_reused': 400,
  'idempotency.answer_lost': 409,
  'idempotency.in_progress': 409,
  'identity.email_taken': 409,
  'identity.email_unverified': 403,
  'identity.external_id_taken': 409,
  'identity.link_invalid': 400,
  'identity.holds_more': 403,
  'identity.in_production': 403,
  'identity.not_found': 404,
  'identity_invite.already_member': 409,
  'identity_invite.not_found': 404,
  'identity_invite.not_pending': 409,
  'identity_invite.already_pending': 409,
  'identity_invite.role_deleted': 409,
  'if_match.required': 400,
  'if_match.invalid': 400,
  'invite.link_invalid': 400,
  'login.consent_required': 403,
  'login.method_not_allowed': 403,
  'member.already_member': 409,
  'member.in_other_accounts': 409,
  'member.last_owner': 409,
  'member.not_found': 404,
  'member.owner_required': 403,
  'mfa.already_enrolled': 409,
  'mfa.challenge_invalid': 400,
  'mfa.challenge_locked': 429,
  'mfa.challenge_required': 403,
  'mfa.code_invalid': 401,
  'mfa.email_unavailable': 400,
  'mfa.enrollment_expired': 400,
  'mfa.enrollment_required': 403,
  'mfa.factor_not_allowed': 400,
  'mfa.factor_not_found': 404,
  'mfa.last_factor': 409,
  'mfa.not_enrolled': 409,
  'mfa.own_factors': 403,
  'mfa.parameters_not_supported': 400,
  'mfa.second_factor_only': 403,
  'mfa.secret_out_of_bounds': 400,
  'mfa.secret_unreadable': 400,
  'mfa.too_many_factors': 409,
  'mfa.trusted_device_not_found': 404,
  'oauth_client.has_no_secret': 400,
  'oauth_client.not_found': 404,
  'oauth_client.without_logout_uri': 409,
  'organization.already_member': 409,
  'organization.confirmation_required': 400,
  'organization.member_not_found': 404,
  'organization.not_found': 404,
  'organization.production_environment': 409,
  'organization.slug_taken': 409,
  'organization.sso_connection_exists': 409,
  'organization.sso_connection_not_owned': 409,
  'origin.foreign': 403,
  'password.breached': 400,
  'password.context_specific': 400,
  'password.hash_out_of_bounds': 400,
  'password.hash_unreadable': 400,
  'password.link_invalid': 400,
  'password.too_short': 400,
  'password.wrong': 400,
  'nodes.node_not_found': 404,
  'node_type_schema.breaks_nodes': 400,
  'nodes.has_children': 400,
  'nodes.not_in_access_model': 400,
  'nodes.root_fixed': 400,
  'nodes.slug_taken': 409,
  'nodes.too_deep': 400,
  'nodes.tree_too_large': 400,
  'nodes.type_not_allowed': 400,
  'nodes.type_unknown': 400,
  'nodes.would_cycle': 400,
  'permission.key_taken': 409,
  'permission.not_found': 404,
  'permission.required': 403,
  'permission.system': 409,
  'principal.wrong_type': 403,
  'process.not_failed': 409,
  'process.not_found': 404,
  'process.not_running': 409,
  'process.verb_not_supported': 409,
  'rate_limit.exceeded': 429,
  'registration.link_invalid': 400,
  'registration.password_required': 400,
  'request.headers_too_large': 431,
  'request.malformed': 400,
  'request.timed_out': 408,
  'route.method_not_allowed': 405,
  'role.cannot_grant': 403,
  'role.in_use': 409,
  'role.name_taken': 409,
  'role.not_found': 404,
  'role.system': 409,
  'role_assignments.not_found': 404,
  'role_assignments.overlapping': 409,
  'role_assignments.window_empty': 400,
  'route.not_found': 404,
  'service.unavailable': 503,
  'scim_group_mapping.exists': 409,
  'scim_group_mapping.not_found': 404,
  'scim_token.not_found': 404,
  'session.not_found': 404,
  'sign_up.daily_cap_reached': 403,
  'sso_domain.limit_reached': 409,
  'sso_connection.incomplete': 400,
  'sso_connection.limit_reached': 409,
  'sso_connection.metadata_unreadable': 400,
  'sso_connection.required': 409,
  'sso_connection.not_active': 409,
  'sso_connection.not_found': 404,
  'sso_connection.test_not_found': 404,
  'sso_domain.malformed': 400,
  'sso_domain.not_found': 404,
  'sso_domain.public_provider': 400,
  'sso_domain.public_suffix': 400,
  sso_required: 403,
  'validation.failed': 400,
  'version.conflict': 409,
  'webhook.delivery_not_found': 404,
  'webhook.inactive': 409,
  'webhook.limit_reached': 409,
  'webhook.not_found': 404,
  'webhook.too_many_attempts': 409,
};

export const httpStatusOf = (code: ErrorCode): number => statuses[code];

/** Generic authentication and authorization failures carry no code (specification, "Errors"). */
const withoutCode = new Set<ErrorCode>(['auth.invalid_credentials', 'principal.wrong_type']);

/** Returns the code that callers see, or null if they see none. */
export const shownCode = (code: ErrorCode): ErrorCode | null => (withoutCode.has(code) ? null : code);

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
  if (refusal) tellWhen(reply, refusal);
  const body = envelope(asked(request), refusal ?? { statusCode: 500, message: 'Something went wrong on our side' });
  return reply.code(body.error.statusCode).send(body);
}
