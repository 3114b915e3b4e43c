import type { FastifyInstance, FastifyReply } from 'fastify';
import { OAuthError } from '../../domain/oidc/oauth-error.js';
import { httpStatusOf } from '../error-statuses.js';
import { reportedRefusalOf } from '../errors.js';
import { setRetryHeaders } from '../surfaces/limit-headers.js';

/** Statuses that refusals keep; every other refusal is 400 here (spec, "Errors"). */
const ownStatuses = [403, 413, 415, 429, 503];

/** Errors that pages answer with 403 to somebody who has proved who they are. */
const refusedAfterProof = ['login.method_not_allowed', 'mfa.enrollment_required', 'sso_required'];

/** For endpoints that our pages' script calls: answers JSON whatever `Accept` says, and `{ error }` for refusals. */
export function answerWebauthnInJson(app: FastifyInstance): void {
  // The hosted login ends in a redirect for a browser, and in `{ redirect_to }` for a request with this header.
  app.addHook('onRequest', async (request) => {
    request.headers.accept = 'application/json';
  });
  // The specification's `{ error }` and 400, even if code shared with pages adds more, or uses another status.
  app.addHook('preSerialization', async (_request, reply, payload) => {
    const { error_description: _, ...rest } = { ...(payload as object) } as {
      error?: string;
      error_description?: string;
    };
    if (reply.statusCode === 401 || refusedAfterProof.includes(rest.error ?? '')) reply.code(400);
    return rest;
  });
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof OAuthError) return refuseInJson(reply, error.code);
    const refusal = reportedRefusalOf(error, request);
    if (!refusal) return refuseInJson(reply, 'server_error', 500);
    const status = httpStatusOf(refusal.code);
    setRetryHeaders(reply, refusal);
    return refuseInJson(reply, refusal.code, ownStatuses.includes(status) ? status : 400);
  });
}

export const refuseInJson = (reply: FastifyReply, error: string, status = 400): FastifyReply =>
  reply.code(status).send({ error });

/** The authenticator's answer, as the script sent it, or as JSON in a form: unchecked, for the domain to judge. */
export function credentialIn(body: unknown): unknown {
  const sent = fieldIn(body, 'credential');
  if (typeof sent !== 'string') return sent;
  try {
    return JSON.parse(sent);
  } catch {
    return undefined;
  }
}

/** Whether a box is ticked: `true` from a form, true from JSON. */
export const isTicked = (body: unknown, name: string): boolean => [true, 'true'].includes(fieldIn(body, name) as never);

const fieldIn = (body: unknown, name: string): unknown =>
  body !== null && typeof body === 'object' ? (body as Record<string, unknown>)[name] : undefined;
