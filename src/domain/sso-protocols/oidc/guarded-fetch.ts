import type { CustomFetch } from 'openid-client';
import type { Outbound } from '../../../platform/outbound/fetch.js';

const withoutBody = [101, 204, 205, 304];

/** The library's way out, through the guard that every URL of a tenant passes: its limits, its addresses, no redirect. */
export const guardedFetch =
  (outbound: Pick<Outbound, 'ask'>): CustomFetch =>
  async (url, { method, headers, body }) => {
    const sent = body === undefined || body === null ? {} : { body: textOf(body) };
    const answer = await outbound.ask(url, { method: method === 'POST' ? 'POST' : 'GET', headers, ...sent });
    const { 'content-encoding': _, 'content-length': __, ...rest } = answer.headers;
    // Of an answer that has none by its status, and of a status that is none, nothing is read.
    const status = answer.status >= 200 && answer.status <= 599 ? answer.status : 502;
    return new Response(withoutBody.includes(status) ? null : new Uint8Array(answer.body), { status, headers: rest });
  };

function textOf(body: unknown): string {
  if (typeof body === 'string') return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw new Error('the library sends what is no text');
}
