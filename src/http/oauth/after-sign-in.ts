import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ReadParameters } from '../../domain/oidc/requests/parameters.js';
import type { SecretCookie } from '../browsers/secret-cookie.js';
import { redirect } from '../pages/redirect.js';
import { type BrandedClient, sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';

/** Marks the redirect from a completed sign-in to a page of ours: its session has just begun. */
export const justSignedIn = { signed_in: 'yes' } as const;

/**
 * Redirects to the same address without the mark, once the session exists. In the address bar, the mark would accuse a
 * browser that comes back after a sign-out, or another one that was given the address. Null if there is no mark.
 */
export function withoutMark({ request, reply, read }: Omit<Arrival, 'client'>): FastifyReply | null {
  if (!read.values.has('signed_in') || request.method !== 'GET' || wantsJson(request)) return null;
  return redirect(request, reply, unmarked(request));
}

function unmarked({ url }: FastifyRequest): string {
  const [path = '', query] = url.split('?', 2);
  const parameters = new URLSearchParams(query);
  parameters.delete('signed_in');
  return `${path}?${parameters}`;
}

interface Arrival {
  request: FastifyRequest;
  reply: FastifyReply;
  read: ReadParameters;
  client: BrandedClient;
}

/**
 * Tells a browser that has just signed in that it did not keep the session's cookie: otherwise it would go in circles
 * without a word. Null for every other browser.
 */
export function sendCookieRefused(
  browser: SecretCookie,
  { request, reply, read, client }: Arrival,
): FastifyReply | null {
  if (!read.values.has('signed_in') || browser.read(request) !== null || wantsJson(request)) return null;
  return sendPage(
    request,
    reply,
    'error',
    {
      title: 'error.not_kept.title',
      message: 'error.not_kept.message',
      detail: null,
      code: 'cookie_not_kept',
      requestId: request.id,
      signInUrl: unmarked(request),
    },
    { status: 400, client, uiLocales: read.values.get('ui_locales') },
  );
}
