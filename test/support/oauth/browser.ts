import type { FastifyInstance, LightMyRequestResponse } from 'fastify';

/** A browser with a cookie jar that sends forms. */
export class Browser {
  readonly cookies = new Map<string, string>();
  /** @param from the address that the rate limits by network see; or what returns it, for each request anew */
  constructor(
    readonly app: FastifyInstance,
    private readonly from: string | (() => string) = '127.0.0.1',
  ) {}
  private get remoteAddress(): string {
    return typeof this.from === 'string' ? this.from : this.from();
  }

  async get(url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') {
    const { remoteAddress } = this;
    return this.keep(await this.app.inject({ method, url, headers: this.headers(headers), remoteAddress }));
  }
  /** Requests only the headers, as link checkers do. */
  head = (url: string) => this.get(url, {}, 'HEAD');
  async post(url: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const payload = new URLSearchParams(fields).toString();
    const { remoteAddress } = this;
    const sent = { ...form, ...headers };
    return this.keep(
      await this.app.inject({ method: 'POST', url, payload, headers: this.headers(sent), remoteAddress }),
    );
  }
  /** Sends JSON, as the script of a page does. */
  async postJson(url: string, payload: object) {
    const { remoteAddress } = this;
    const headers = this.headers({ 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' });
    return this.keep(await this.app.inject({ method: 'POST', url, payload, headers, remoteAddress }));
  }
  /** Submits the form of a page with its hidden fields, as a person would. */
  submit(page: LightMyRequestResponse, fields: Record<string, string>, headers: Record<string, string> = {}) {
    const action = /<form method="post" action="([^"]+)"/.exec(page.body)?.[1] ?? '';
    return this.post(action, { ...hiddenFields(page), ...fields }, headers);
  }
  private headers(more: Record<string, string>) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return { accept: 'text/html', ...(cookie && { cookie }), ...more };
  }
  private keep(response: LightMyRequestResponse) {
    for (const { name, value, maxAge } of response.cookies) {
      if (maxAge === 0 || value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }
}

/** Returns the hidden fields of a page's forms. */
export function hiddenFields({ body }: Pick<LightMyRequestResponse, 'body'>): Record<string, string> {
  const hidden = [...body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
  return Object.fromEntries(hidden.map(([, name, value]) => [name, unescaped(value ?? '')]));
}

const unescaped = (html: string) =>
  html
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

/** Returns the URL that an answer redirects to. */
export function locationOf(response: LightMyRequestResponse): URL {
  return new URL(String(response.headers.location), 'http://localhost:3000');
}
