import type { LightMyRequestResponse } from 'fastify';
import { hidden } from './mfa.js';
import { type Browser, locationOf } from './oauth/browser.js';
import { password, type TestClient } from './oauth/environment.js';

type OfClient = Pick<TestClient, 'clientId'>;

/** Returns the address of a page of the person's account. */
export const accountUrl = (client: OfClient, more: Record<string, string> = {}, page = '') =>
  `/oauth/account${page}?${new URLSearchParams({ client_id: client.clientId, ...more })}`;

/** Follows redirects within the service until an answer is a page. */
export async function follow(browser: Browser, answer: LightMyRequestResponse): Promise<LightMyRequestResponse> {
  let at = answer;
  for (let hops = 0; at.statusCode === 303; hops++) {
    if (hops > 8) throw new Error(`it goes round in circles: ${at.headers.location}`);
    const { pathname, search } = locationOf(at);
    at = await browser.get(pathname + search);
  }
  return at;
}

/** Opens a page of the person's account, and signs them in with the password where the service asks for it. */
export async function openAccount(browser: Browser, address: string, { email }: { email: string }) {
  const page = await follow(browser, await browser.get(address));
  const asksPassword = page.body.includes('name="password"') && !page.body.includes('name="session"');
  return asksPassword ? follow(browser, await browser.submit(page, { email, password })) : page;
}

/** Sends a form of an account page. @param form the path after `/oauth/account/` */
export function send(
  browser: Browser,
  page: LightMyRequestResponse,
  form: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
) {
  const context = { client_id: hidden(page, 'client_id'), session: hidden(page, 'session') };
  return browser.post(`/oauth/account/${form}`, { ...context, ...fields }, headers);
}

/** Returns the notice on the page that says what was done. */
export const noticeOf = (page: LightMyRequestResponse): string | null =>
  /role="status">([^<]*)</.exec(page.body)?.[1] ?? null;
