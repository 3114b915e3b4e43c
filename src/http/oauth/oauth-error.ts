import type { FastifyInstance, FastifyReply } from 'fastify';
import type { DomainError } from '../../domain/errors.js';
import { OAuthError, type OAuthErrorCode } from '../../domain/oidc/oauth-error.js';
import { httpStatusOf } from '../error-statuses.js';
import { refusalOf, reportedRefusalOf } from '../errors.js';
import { setRetryHeaders } from '../surfaces/limit-headers.js';

const statuses: Partial<Record<OAuthErrorCode, number>> = {
  access_denied: 403,
  insufficient_scope: 403,
  invalid_client: 401,
  invalid_token: 401,
  server_error: 500,
  temporarily_unavailable: 503,
};

/** The HTTP status of a code. RFC 6749 §5.2: 400, except for failed authentication of the client. */
export const oauthStatusOf = (code: OAuthErrorCode): number => statuses[code] ?? 400;

export const noStore = (reply: FastifyReply): FastifyReply =>
  reply.header('cache-control', 'no-store').header('pragma', 'no-cache');

/** The OAuth error code for any error. */
export function oauthCodeOf(error: unknown): OAuthErrorCode {
  if (error instanceof OAuthError) return error.code;
  const refusal = refusalOf(error);
  if (!refusal) return 'server_error';
  const status = httpStatusOf(refusal.code);
  return status === 503 || status === 429 ? 'temporarily_unavailable' : 'invalid_request';
}

/** Answers every error as `{ error, error_description }` (RFC 6749 §5.2). */
export function handleOAuthErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => {
    noStore(reply);
    if (error instanceof OAuthError) {
      // RFC 6749 §5.2 wants the scheme that the client used; this one is named however it tried.
      if (error.code === 'invalid_client') reply.header('www-authenticate', 'Basic realm="oauth", charset="UTF-8"');
      return reply.code(oauthStatusOf(error.code)).send({ error: error.code, error_description: error.message });
    }
    const refusal = reportedRefusalOf(error, request);
    if (!refusal) {
      return reply.code(500).send({ error: 'server_error', error_description: 'something went wrong on our side' });
    }
    return sendOAuthRefusal(reply, refusal);
  });
}

/** Answers a refusal in the form of RFC 6749 §5.2. */
export function sendOAuthRefusal(reply: FastifyReply, refusal: DomainError): FastifyReply {
  setRetryHeaders(reply, refusal);
  const isOtherType = refusal.code === 'body.unsupported_media_type';
  const description = isOtherType ? 'send the body as application/x-www-form-urlencoded' : refusal.message;
  const answer = { error: oauthCodeOf(refusal), error_description: description };
  return noStore(reply).code(httpStatusOf(refusal.code)).send(answer);
}
