import type { Locale } from '../../platform/mail/texts.js';
import { frameSource, redirectSource } from './urls.js';

interface PageHeaders {
  nonce: string;
  locale: Locale;
  /** Where answers to the page's forms redirect: the client's redirect URI. The service itself is always included. */
  formActions: readonly string[];
  /** An address whose origin may frame the page: it must not contain anything that somebody could be made to press. */
  framedBy?: string | null;
  /** Whether the page shows a logo, of the client or of the Environment. */
  logo?: boolean;
  /** Whether the page has scripts of ours: they may run under the nonce. */
  scripts?: boolean;
  /** Whether one of them calls this service and uses WebAuthn. */
  webauthn?: boolean;
  /** Whether the page shows the captcha's widget: its script, and the frame that it works in. */
  captcha?: boolean;
  /** Whether its form is posted to somebody else: many refuse a form whose `Origin` is "null". */
  namesOrigin?: boolean;
  /** Whether the browser may keep it as it was, for people who go back to it. */
  kept?: boolean;
  /** Whether it is cut off from the window that opened it. */
  isolated?: boolean;
}

/** The origin of Cloudflare Turnstile's widget. */
const turnstile = 'https://challenges.cloudflare.com';

/**
 * The headers of a hosted page. Nothing foreign may run in it, frame it (except `framedBy`) or embed it, no cache keeps
 * it for another request, and no address leaks from it.
 */
export function pageHeaders(page: PageHeaders) {
  const {
    nonce,
    locale,
    formActions,
    framedBy = null,
    logo = false,
    scripts = false,
    webauthn = false,
    captcha = false,
    namesOrigin = false,
    kept = false,
    isolated = true,
  } = page;
  if (!/^[A-Za-z0-9+/_=-]+$/.test(nonce)) throw new Error('A nonce is base64');
  // Browsers apply form-action to the redirects after a submission too, hence the client's scheme.
  const targets = ["'self'", ...new Set(formActions.map(redirectSource))];
  const framing = framedBy === null ? "'none'" : frameSource(framedBy);
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-language': locale,
    'content-security-policy': [
      "default-src 'none'",
      `style-src 'nonce-${nonce}'`,
      `img-src ${logo ? "'self' https: " : ''}data:`,
      ...(scripts || captcha ? [`script-src 'nonce-${nonce}'${captcha ? ` ${turnstile}` : ''}`] : []),
      ...(webauthn ? ["connect-src 'self'"] : []),
      ...(captcha ? [`frame-src ${turnstile}`] : []),
      `form-action ${targets.join(' ')}`,
      "base-uri 'none'",
      `frame-ancestors ${framing}`,
    ].join('; '),
    ...(framing === "'none'" && { 'x-frame-options': 'DENY' }),
    'x-content-type-options': 'nosniff',
    // Others learn nothing. `no-referrer` would also turn the `Origin` of our own forms into "null", which is checked.
    // The captcha's service may learn which site asks, and no more.
    'referrer-policy': captcha || namesOrigin ? 'strict-origin' : 'same-origin',
    'cache-control': kept ? 'private, max-age=0, must-revalidate' : 'no-store',
    'cross-origin-opener-policy': isolated ? 'same-origin' : 'unsafe-none',
    'permissions-policy': [
      'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
      ...['get', 'create'].map((use) => `publickey-credentials-${use}=(${webauthn ? 'self' : ''})`),
    ].join(', '),
  };
}
