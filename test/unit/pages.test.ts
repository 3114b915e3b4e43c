import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { type Color, contrast, palette, surfaces, textOn } from '../../src/http/pages/colors.js';
import { chooseLocale, locales } from '../../src/http/pages/locale.js';
import type { Pages } from '../../src/http/pages/pages.js';
import { type Branding, renderPage } from '../../src/http/pages/render.js';
import { pageHeaders } from '../../src/http/pages/security-headers.js';
import { imageSource, linkTarget } from '../../src/http/pages/urls.js';
import { type TextKey, text, textKeys } from '../../src/platform/mail/texts.js';
import { projectRoot } from '../../src/platform/root.js';

const folder = join(projectRoot, 'templates/pages');
const nonce = 'bm9uY2U';
const requestId = '0192f2a0-3c1d-7b8e-9d53-0f3f6a1f8c11';

/** Every page, with one value wherever a text may come from outside. */
const everyPage = (value: string): Pages => ({
  'sign-in': {
    action: '/oauth/authorize',
    params: { client_id: 'portal', state: value, [value]: 'x' },
    email: value,
    error: 'sign_in.error.credentials',
    signUpUrl: `/oauth/register?state=${value}`,
    forgotUrl: '/oauth/password/forgot',
    client: { name: value, logoUrl: null },
  },
  'select-account': {
    action: '/oauth/authorize',
    params: { state: value },
    identity: { email: value },
    client: { name: value, logoUrl: `https://cdn.example.com/${value}` },
  },
  logout: { action: '/oauth/logout', params: { state: value }, client: { name: value } },
  'signed-out': { clientUrl: `https://app.example.com/${value}` },
  error: {
    title: 'error.request.title',
    message: 'error.request.message',
    detail: value,
    code: value,
    requestId: value,
    retryAfterSeconds: 90,
  },
  'verify-email': { action: '/v1/auth/verify-email', token: value, accountName: value, email: value },
  'email-verified': { accountName: value, accountSlug: value, nextUrl: value },
  'choose-password': {
    action: '/v1/auth/password/reset',
    token: value,
    purpose: 'reset',
    email: value,
    error: 'choose_password.error.breached',
  },
  'password-saved': { nextUrl: value },
  'accept-invite': {
    action: '/v1/auth/accept-invite',
    token: value,
    accountName: value,
    email: value,
    firstName: value,
    lastName: value,
    asksNames: true,
    asksPassword: true,
    passwordOptional: false,
    error: 'choose_password.error.breached',
  },
  'invite-accepted': { accountName: value },
  'invite-invalid': {},
  'link-invalid': { nextUrl: value },
});

const render = <P extends keyof Pages>(name: P, values: Pages[P], branding?: Branding, locale: 'en' | 'de' = 'en') =>
  renderPage(name, { locale, nonce, branding }, values);

const names = Object.keys(everyPage('')) as (keyof Pages)[];
const signIn = everyPage('ana@example.com')['sign-in'];
const acme: Branding = { name: 'Acme', logo_url: null, primary_color: '#0a2540', support_email: 'help@acme.example' };

describe.each(locales)('in %s', (locale) => {
  test.each(names)('%s shows hostile values as text and nothing else', (name) => {
    const page = (value: string, branded: boolean) =>
      renderPage(
        name,
        {
          locale,
          nonce,
          branding: branded
            ? {
                name: value,
                logo_url: `https://cdn.example.com/${value}`,
                primary_color: `#fff}</style>${value}`,
                support_email: value,
              }
            : null,
        },
        everyPage(value)[name],
      );
    // Tags and the names of their attributes, with whatever stands in quotes left out.
    const structure = (html: string) => html.replace(/"[^"]*"/g, '""').match(/<[^>]*>/g);
    for (const branded of [true, false]) {
      const html = page('"><script>alert(1)</script>\'&', branded);
      expect(structure(html)).toEqual(structure(page('x', branded)));
      expect(html).toContain(`<html lang="${locale}">`);
      expect(html).not.toMatch(/undefined|\[object|\{[a-z_]+\}/);
    }
  });

  test.each(names)('%s is one small response', (name) => {
    const html = renderPage(name, { locale, nonce, branding: acme }, everyPage('ana@example.com')[name]);
    expect(gzipSync(html).length).toBeLessThan(6_000);
    expect(html).not.toMatch(/<link|<iframe|@import|url\(/);
  });

  test('every text that a template names exists', () => {
    for (const file of readdirSync(folder)) {
      for (const [, key] of readFileSync(join(folder, file), 'utf8').matchAll(/\bt\('([^']+)'/g)) {
        expect(textKeys(locale)).toContain(key);
      }
    }
  });
});

test('both catalogues have the same keys in the same order, with the same placeholders', () => {
  expect(textKeys('de')).toEqual(textKeys('en'));
  const placeholders = (locale: 'en' | 'de') => {
    const file = JSON.parse(readFileSync(join(projectRoot, 'templates/locales', `${locale}.json`), 'utf8'));
    return Object.entries<string>(file).map(([key, value]) => [key, (value.match(/\{\w+\}/g) ?? []).sort()]);
  };
  expect(placeholders('de')).toEqual(placeholders('en'));
});

test('an unknown text or a missing value throws', () => {
  expect(() => text('en', 'sign_in.nowhere' as TextKey)).toThrow('sign_in.nowhere');
  expect(() => text('en', 'sign_in.title')).toThrow('{client}');
  expect(() => render('sign-in', { ...signIn, error: 'nope' as TextKey })).toThrow('nope');
  expect(() => render('sign-in', { ...signIn, email: undefined as unknown as string })).toThrow('no value');
});

describe('sign-in', () => {
  test('replays the OAuth parameters and asks password managers for the right fields', () => {
    const html = render('sign-in', { ...signIn, params: { client_id: 'portal', state: 'a b' } });
    expect(html).toContain('<input type="hidden" name="client_id" value="portal">');
    expect(html).toContain('<input type="hidden" name="state" value="a b">');
    expect(html).toContain('<form method="post" action="/oauth/authorize">');
    expect(html).toMatch(/name="email" type="email"[^>]* autocomplete="username"/);
    expect(html).toMatch(/name="password" type="password" autocomplete="current-password"/);
  });

  test('starts at the first field that is empty', () => {
    expect(render('sign-in', { ...signIn, email: '' })).toMatch(/id="email"[^>]* autofocus>/);
    expect(render('sign-in', { ...signIn, email: '' })).not.toMatch(/id="password"[^>]* autofocus>/);
    expect(render('sign-in', signIn)).toMatch(/id="password"[^>]* autofocus>/);
  });

  test('announces an error and ties it to the fields; a notice blames none', () => {
    const wrong = render('sign-in', signIn);
    expect(wrong).toMatch(/id="message" role="alert"/);
    expect(wrong.match(/aria-invalid="true" aria-describedby="message"/g)).toHaveLength(2);
    expect(wrong).toContain('<title>Error: ');
    const notice = render('sign-in', { ...signIn, error: 'sign_in.notice.expired' });
    expect(notice).toContain('aria-describedby="message"');
    expect(notice).not.toContain('aria-invalid="true"');
    expect(notice).not.toContain('<title>Error: ');
    expect(render('sign-in', { ...signIn, error: null })).not.toContain('role="alert"');
  });
});

test('an error page says when to try again, rounded up', () => {
  const error = { ...everyPage('x').error, title: 'error.too_many.title', message: 'error.too_many.message' } as const;
  expect(render('error', { ...error, retryAfterSeconds: 40 })).toContain('Try again in 40 seconds.');
  expect(render('error', { ...error, retryAfterSeconds: 61 }, undefined, 'de')).toContain('in 2 Minuten');
  expect(render('error', { ...error, retryAfterSeconds: undefined, requestId })).not.toContain('Try again in');
});

test('a page links to the web, to itself and to an app, never to a script', () => {
  for (const url of ['https://a.example/x?y=1', 'http://127.0.0.1:4000/', '/path', 'com.example.app:/done']) {
    expect(linkTarget(url)).toBe(url);
  }
  for (const url of [
    'javascript:alert(1)',
    'JAVASCRIPT:alert(1)',
    ' javascript:x',
    'data:text/html,x',
    '//evil.example',
    '/\\evil.example',
    'x',
    '',
  ]) {
    expect(linkTarget(url)).toBeNull();
  }
  expect(imageSource('http://a.example/logo.png')).toBeNull();
  expect(imageSource('data:text/html,<script>')).toBeNull();
  expect(imageSource('https://a.example/logo.png')).toBe('https://a.example/logo.png');
  expect(render('signed-out', { clientUrl: 'javascript:alert(1)' })).not.toContain('javascript:');
});

describe('colors', () => {
  const anyColor = fc.integer({ min: 0, max: 0xffffff }).map((n): Color => `#${n.toString(16).padStart(6, '0')}`);

  test('contrast is that of WCAG', () => {
    expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 5);
    expect(contrast('#ffffff', '#ffffff')).toBe(1);
    expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
  });

  test('text on any brand color can be read, at rest and hovered, and links only use a color that can', () => {
    fc.assert(
      fc.property(anyColor, (brand) => {
        const { text: on, hover, link } = palette(brand);
        expect(on).toBe(textOn(brand));
        expect(contrast(brand, on)).toBeGreaterThanOrEqual(4.5);
        expect(contrast(hover, on)).toBeGreaterThanOrEqual(4.5);
        for (const scheme of ['light', 'dark'] as const) {
          if (link[scheme])
            for (const surface of surfaces[scheme]) expect(contrast(brand, surface)).toBeGreaterThanOrEqual(4.5);
        }
      }),
    );
  });

  test('a color that is too pale for links still paints the button', () => {
    const html = render('sign-in', signIn, { ...acme, primary_color: '#ffd400' });
    expect(html).toContain('--accent: #ffd400; --on-accent: #000000;');
    expect(html).toContain('--link: var(--text)');
    expect(render('sign-in', signIn, { ...acme, primary_color: 'red' })).not.toContain('--accent: red');
  });

  test('the style sheet paints the surfaces that contrast is computed against', () => {
    const styles = readFileSync(join(folder, 'styles.eta'), 'utf8');
    expect(styles).toContain(`--page: ${surfaces.light[1]}; --card: ${surfaces.light[0]};`);
    expect(styles).toContain(`--page: ${surfaces.dark[1]}; --card: ${surfaces.dark[0]};`);
  });
});

describe('language', () => {
  test.each([
    [{}, 'en'],
    [{ uiLocales: 'de' }, 'de'],
    [{ uiLocales: 'fr-CA de-CH en' }, 'de'],
    [{ uiLocales: 'de-Latn-DE-1996' }, 'de'],
    [{ uiLocales: 'de-x-private' }, 'de'],
    [{ uiLocales: 'fr', acceptLanguage: 'de' }, 'de'],
    [{ acceptLanguage: 'fr;q=0.9, de-AT;q=0.8, en;q=0.7' }, 'de'],
    [{ acceptLanguage: 'en;q=0.5, DE' }, 'de'],
    [{ acceptLanguage: 'de;q=0, *' }, 'en'],
    [{ acceptLanguage: '*', default: 'de' }, 'de'],
    [{ uiLocales: 'den', default: 'xx' }, 'en'],
    [{ acceptLanguage: ';;;,,q=;de;q=x' }, 'en'],
  ] as const)('%j gives %s', (wishes, expected) => {
    expect(chooseLocale(wishes)).toBe(expected);
  });
});

describe('headers', () => {
  const headers = (formActions: string[], logo = false) => pageHeaders({ nonce, locale: 'de', formActions, logo });

  test('the policy lets a form reach the client and the page load nothing', () => {
    expect(
      headers(['https://app.example.com/cb?x=1', 'https://app.example.com/other'])['content-security-policy'],
    ).toBe(
      "default-src 'none'; style-src 'nonce-bm9uY2U'; img-src 'none'; form-action 'self' https://app.example.com; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(headers([], true)['content-security-policy']).toContain("img-src 'self' https: data:");
    expect(headers([])).toMatchObject({
      'cache-control': 'no-store',
      'content-language': 'de',
      'x-frame-options': 'DENY',
    });
  });

  test('apps and IPv6 loopback are named by their scheme', () => {
    expect(headers(['com.example.app:/cb'])['content-security-policy']).toContain(
      "form-action 'self' com.example.app:;",
    );
    expect(headers(['http://[::1]:8080/cb'])['content-security-policy']).toContain("form-action 'self' http:;");
    expect(headers(['http://127.0.0.1:8080/cb'])['content-security-policy']).toContain(
      "form-action 'self' http://127.0.0.1:8080;",
    );
  });

  test('our own forms still say where they come from', () => {
    expect(headers([])['referrer-policy']).toBe('same-origin');
  });

  test('a client in another window keeps its popup; other pages are isolated', () => {
    expect(headers(['https://app.example.com/cb'])['cross-origin-opener-policy']).toBe('unsafe-none');
    expect(headers([])['cross-origin-opener-policy']).toBe('same-origin');
  });

  test('nothing can be smuggled into the policy', () => {
    expect(() => headers(['https://a;script-src.example/'])).toThrow();
    expect(() => headers(['not a url'])).toThrow();
    expect(() => pageHeaders({ nonce: "x' 'unsafe-inline", locale: 'en', formActions: [] })).toThrow();
  });
});

test('a page takes a fraction of a millisecond', () => {
  for (let i = 0; i < 500; i++) render('sign-in', signIn, acme);
  const rounds = Array.from({ length: 5 }, () => {
    const start = performance.now();
    for (let i = 0; i < 200; i++) render('sign-in', signIn, acme);
    return (performance.now() - start) / 200;
  });
  expect(Math.min(...rounds)).toBeLessThan(0.2);
});
