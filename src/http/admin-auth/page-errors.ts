import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DomainError } from '../../domain/errors.js';
import { adminAppOf } from '../../platform/admin-app.js';
import { httpStatusOf } from '../error-statuses.js';
import { reportedRefusalOf, sendError } from '../errors.js';
import { browserLocaleOf } from '../pages/locale.js';
import type { Pages } from '../pages/pages.js';
import { setRetryHeaders } from '../surfaces/limit-headers.js';
import type { AdminPages } from './origin.js';
import { sendAdminPage, wantsPage } from './pages.js';

interface Refusing extends AdminPages {
  /** False if people come by an application's own request, whose developers need to know what is wrong with it. */
  isMailed?: boolean;
}

/** Answers an error in the format of the request: a page for a browser, the envelope for a program. */
export const sendPageOrError =
  (pages: Refusing) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    wantsPage(request) ? sendAsPage(error, request, reply, pages) : sendError(error, request, reply);

function sendAsPage(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { isMailed = true, ...pages }: Refusing,
): FastifyReply {
  const refusal = reportedRefusalOf(error, request);
  const { retryAfter } = refusal?.options ?? {};
  const status = refusal ? httpStatusOf(refusal.code) : 500;
  reply.code(status);
  if (refusal) setRetryHeaders(reply, refusal);

  const locale = browserLocaleOf(request);
  const isWrongRequest = !isMailed && refusal?.code === 'validation.failed';
  const texts = isWrongRequest ? ofRequest : textsFor(status);
  // Whatever else is wrong with a link, for a person it is a link that does not work.
  if (!texts) {
    const isOfPassword = refusal?.code === 'password.link_invalid';
    return sendAdminPage(reply, 'link-invalid', { nextUrl: adminAppOf(pages), isOfPassword }, locale);
  }
  const retryAfterSeconds = retryAfter === undefined ? {} : { retryAfterSeconds: retryAfter };
  const code = refusal?.code ?? 'internal';
  const detail = isWrongRequest ? wrongIn(refusal) : null;
  return sendAdminPage(reply, 'error', { ...texts, detail, code, requestId: request.id, ...retryAfterSeconds }, locale);
}

const ofRequest = { title: 'error.request.title', message: 'error.request.message' } as const;

const wrongIn = ({ options: { details = [] } }: DomainError): string =>
  details.map(({ field, message }) => `${field} ${message}`).join('; ');

function textsFor(status: number): Pick<Pages['error'], 'title' | 'message'> | null {
  if (status === 403) return { title: 'error.origin.title', message: 'error.origin.message' };
  if (status === 429) return { title: 'error.too_many.title', message: 'error.too_many.message' };
  if (status === 503) return { title: 'error.unavailable.title', message: 'error.unavailable.message' };
  if (status >= 500) return { title: 'error.internal.title', message: 'error.internal.message' };
  return null;
}
