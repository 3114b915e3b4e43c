/** A page as a browser without a screen gets it. */
export interface FetchedPage {
  status: number;
  url: string;
  headers: Headers;
  html: string;
}

export interface UserAgent {
  /** Follows redirects, keeping cookies, to a page or to `until`, which is not visited. */
  open(url: string | URL, options?: { until?: string; form?: Record<string, string> }): Promise<FetchedPage>;
  /** Submits the page's form with its hidden fields and the filled ones. */
  submit(page: FetchedPage, filled: Record<string, string>, options?: { until?: string }): Promise<FetchedPage>;
  cookies: ReadonlyMap<string, string>;
}

const maxRedirects = 10;

/**
 * The smallest browser that can sign in: cookies of one site, redirects and forms. No scripts, as the pages need none.
 * @param send replaces `fetch` for requests that take another route than straight to their address
 */
export function createUserAgent(send: (url: URL, init: RequestInit) => Promise<Response> = fetch): UserAgent {
  const cookies = new Map<string, string>();

  async function open(start: string | URL, { until, form }: { until?: string; form?: Record<string, string> } = {}) {
    let url = new URL(start);
    let body = form && new URLSearchParams(form);
    for (let hop = 0; hop < maxRedirects; hop++) {
      if (until && url.href.startsWith(until)) return { status: 0, url: url.href, headers: new Headers(), html: '' };
      const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
      const response: Response = await send(url, {
        redirect: 'manual',
        headers: { ...(cookie && { cookie }), ...(body && { origin: url.origin }), accept: 'text/html' },
        ...(body && { method: 'POST', body }),
      });
      keep(cookies, response.headers.getSetCookie());
      const location = response.headers.get('location');
      if (!location) {
        return { status: response.status, url: url.href, headers: response.headers, html: await response.text() };
      }
      await response.arrayBuffer();
      url = new URL(location, url);
      body = undefined; // after 302 and 303 the method is GET
    }
    throw new Error(`More than ${maxRedirects} redirects from ${start}`);
  }

  return {
    cookies,
    open,
    submit(page, filled, options) {
      const { action, fields } = formIn(page);
      return open(new URL(action, page.url), { ...options, form: { ...fields, ...filled } });
    },
  };
}

function keep(cookies: Map<string, string>, lines: string[]) {
  for (const line of lines) {
    const [pair = '', ...attributes] = line.split(/;\s*/);
    const at = pair.indexOf('=');
    const gone = attributes.some((attribute) => /^(max-age=0|expires=thu, 01 jan 1970.*)$/i.test(attribute));
    if (gone) cookies.delete(pair.slice(0, at));
    else cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }
}

/** Returns the page's first form: its action and its hidden fields. */
function formIn({ html, status }: FetchedPage): { action: string; fields: Record<string, string> } {
  const [form, tag = ''] = /(<form\b[^>]*>)[\s\S]*?<\/form>/.exec(html) ?? [];
  if (!form) throw new Error(`The page (${status}) has no form: ${html}`);
  const hidden = [...form.matchAll(/<input\b[^>]*type="hidden"[^>]*>/g)].map(([input]) => input);
  return {
    action: attribute(tag, 'action'),
    fields: Object.fromEntries(hidden.map((input) => [attribute(input, 'name'), attribute(input, 'value')])),
  };
}

const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };

function attribute(tag: string, name: string): string {
  const [, value = ''] = new RegExp(`\\b${name}="([^"]*)"`).exec(tag) ?? [];
  return value.replace(/&(amp|lt|gt|quot|#39);/g, (entity) => entities[entity] as string);
}
