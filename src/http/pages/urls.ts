const PRIVATE_USE_SCHEME = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/;

/**
 * An address as a link may carry it, or `null` when it may not: http(s), a path of this service, or an app's private-use
 * scheme, which RFC 8252 §7.1 tells from `javascript:` and `data:` by its dot.
 */
export function linkTarget(url: string | null): string | null {
  if (!url) return null;
  if (/^\/(?![/\\])/.test(url)) return url;
  const protocol = parse(url)?.protocol ?? '';
  return /^https?:$/.test(protocol) || PRIVATE_USE_SCHEME.test(protocol) ? url : null;
}

/** A logo's address, or `null` when it is none that the page's policy lets the browser load. */
export function imageSource(url: string | null | undefined): string | null {
  if (!url) return null;
  return parse(url)?.protocol === 'https:' || /^data:image\/(png|jpeg|gif|webp|svg\+xml)[;,]/.test(url) ? url : null;
}

/** The source expression of CSP's `form-action` that lets a form's answer redirect there. */
export function redirectSource(url: string): string {
  const parsed = parse(url);
  if (!parsed) throw new Error('A redirect address is not an absolute URL');
  // An app's own scheme has no origin, and CSP's grammar has no IPv6 address: both are named by their scheme.
  // So are hosts that URLs may have and names in DNS have not: a semicolon would end the directive.
  return /^[a-z0-9.+:/_-]+$/i.test(parsed.origin) && parsed.origin !== 'null' ? parsed.origin : parsed.protocol;
}

function parse(url: string): URL | null {
  return URL.canParse(url) ? new URL(url) : null;
}
