const privateUseScheme = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/;

/**
 * Returns an address if a link may carry it, or else null: http(s), a path of this service, or an app's private-use
 * scheme, which RFC 8252 §7.1 distinguishes from `javascript:` and `data:` by its dot.
 */
export function linkTarget(url: string | null): string | null {
  if (!url) return null;
  if (/^\/(?![/\\])/.test(url)) return url;
  const protocol = parse(url)?.protocol ?? '';
  return /^https?:$/.test(protocol) || privateUseScheme.test(protocol) ? url : null;
}

/** Returns a logo's address, or null if the page's policy does not let the browser load it. */
export function imageSource(url: string | null | undefined): string | null {
  if (!url) return null;
  return parse(url)?.protocol === 'https:' || /^data:image\/(png|jpeg|gif|webp|svg\+xml)[;,]/.test(url) ? url : null;
}

/**
 * Returns the source expression of CSP's `form-action` that lets a form's answer redirect there, and further. Browsers
 * apply it to all redirects after a form, including the client's own (from `api.` to `app.`, or back through a provider
 * in between), whose targets are not known here: so it is the scheme. `http:`, which only loopback has, covers https as
 * well (CSP 3 §6.7.2.8).
 */
export function redirectSource(url: string): string {
  const parsed = parse(url);
  if (!parsed) throw new Error('A redirect address is not an absolute URL');
  return parsed.protocol;
}

/**
 * Returns the source expression of CSP's `frame-ancestors` for an address's origin; `'none'` for an IPv6 address, which
 * CSP cannot name.
 */
export function frameSource(url: string): string {
  const origin = parse(url)?.origin ?? '';
  return /^https?:\/\/[a-z0-9._-]+(:\d+)?$/.test(origin) ? origin : "'none'";
}

function parse(url: string): URL | null {
  return URL.canParse(url) ? new URL(url) : null;
}
