import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ReadParameters } from '../../domain/oidc/parameters.js';
import { redirect } from '../pages/redirect.js';
import { type Looks, sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';
import type { SecretCookie } from '../secret-cookie.js';

/** What the way from a completed sign-in to a page of ours says: that its session has just begun. */
export const justSignedIn = { signed_in: 'yes' } as const;

/**
 * To the same address without the mark, once the session is there: in the address bar it would accuse a browser that comes back after a
 * sign-out, or another one that was given the address. Null where there is none.
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
  client: Looks;
}

/**
 * Says so to a browser that has just signed in and did not keep the cookie of that: without a word it would go in circles.
 * Null for everybody else.
 */
export function sendNotKept(browser: SecretCookie, { request, reply, read, client }: Arrival): FastifyReply | null {
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
