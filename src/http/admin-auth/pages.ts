import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Locale } from '../../platform/mail/texts.js';
import type { Pages } from '../pages/pages.js';
import { renderPage } from '../pages/render.js';
import { pageHeaders } from '../pages/security-headers.js';
import { scriptsOf } from '../pages/traits.js';
import { wantsJson } from '../pages/wants-json.js';

/** Whether the body is a form, as a page of ours sends it. */
export const isForm = ({ headers }: FastifyRequest): boolean =>
  /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '');

/** Whether the answer is for a person: a POST shows that by being a form, a GET by its `Accept`. */
export const wantsPage = (request: FastifyRequest): boolean =>
  request.method === 'POST' ? isForm(request) : !wantsJson(request);

/** Sends a page to an administrator, in our own looks. @param formActions where the answer to its form may redirect */
export function sendAdminPage<P extends keyof Pages>(
  reply: FastifyReply,
  page: P,
  values: Pages[P],
  locale: Locale,
  formActions: readonly string[] = [],
): FastifyReply {
  const nonce = randomBytes(16).toString('base64');
  const scripts = scriptsOf(page);
  // If the answer leads to the administrators' application, that may have opened the window.
  const isolated = formActions.length === 0;
  // As for the pages of end users that answer a form (docs/decisions/0006): Back to a page that the browser cannot
  // fetch again would show the browser's own error.
  const kept = reply.request.method === 'POST';
  reply.headers(pageHeaders({ nonce, locale, formActions, scripts: scripts.length > 0, kept, isolated }));
  return reply.send(renderPage(page, { locale, nonce, scripts }, values));
}
