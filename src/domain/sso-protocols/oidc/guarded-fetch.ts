import type { CustomFetch } from 'openid-client';
import type { Outbound } from '../../../platform/outbound/fetch.js';

const withoutBody = [101, 204, 205, 304];

/** Sends the library's requests through the guard for tenants' URLs: its limits, its addresses, no redirects. */
export const guardedFetch =
  (outbound: Pick<Outbound, 'ask'>): CustomFetch =>
  async (url, { method, headers, body }) => {
    const sent = body === undefined || body === null ? {} : { body: textOf(body) };
    const answer = await outbound.ask(url, { method: method === 'POST' ? 'POST' : 'GET', headers, ...sent });
    const { 'content-encoding': _, 'content-length': __, ...rest } = answer.headers;
    // `Response` accepts no body with some statuses, and no status out of range.
    const status = answer.status >= 200 && answer.status <= 599 ? answer.status : 502;
    return new Response(withoutBody.includes(status) ? null : new Uint8Array(answer.body), { status, headers: rest });
  };

function textOf(body: unknown): string {
  if (typeof body === 'string') return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw new Error('the library sends what is no text');
}
