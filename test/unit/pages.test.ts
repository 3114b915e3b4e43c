import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import QRCode from 'qrcode';
import { factorInMails } from '../../src/domain/mfa/factor-in-mails.js';
import type { AccountPages } from '../../src/http/pages/account-pages.js';
import { initialOf } from '../../src/http/pages/initial.js';
import { chooseLocale } from '../../src/http/pages/locale.js';
import type { Pages } from '../../src/http/pages/pages.js';
import { type Branding, renderPage } from '../../src/http/pages/render.js';
import { pageHeaders } from '../../src/http/pages/security-headers.js';
import type { SignUpPages } from '../../src/http/pages/sign-up-pages.js';
import { isIsolated, scriptsOf } from '../../src/http/pages/traits.js';
import { imageSource, linkTarget } from '../../src/http/pages/urls.js';
import { type Color, contrast, controls, palette, surfaces, textOn } from '../../src/platform/colors.js';
import { locales, type TextKey, text, textKeys, textWith } from '../../src/platform/mail/texts.js';
import { projectRoot } from '../../src/platform/root.js';

const folder = join(projectRoot, 'templates/pages');
const nonce = 'bm9uY2U';
const requestId = '0192f2a0-3c1d-7b8e-9d53-0f3f6a1f8c11';

/** Returns every page, with one value wherever a text may come from outside. */
const everyPage = (value: string): Pages => ({
  'sign-in': {
    action: '/oauth/authorize',
    params: { client_id: 'portal', state: value, [value]: 'x' },
    email: value,
    error: 'sign_in.error.credentials',
    codeUrl: '/oauth/login/email-otp/start',
    captcha: null,
    signUpUrl: `/oauth/register?state=${value}`,
    forgotUrl: '/oauth/password/forgot',
    resendTicket: value,
    ssoUrl: '/oauth/sso',
    passkey: true,
    organization: value,
    client: { name: value, logoUrl: null },
  },
  'sign-in-address': {
    way: 'sso',
    action: '/oauth/login/email-otp/start',
    params: { state: value },
    email: value,
    error: 'sign_in.error.captcha',
    passwordUrl: `/oauth/authorize?state=${value}`,
    signUpUrl: null,
    recoveryUrl: `/oauth/authorize?state=${value}&method=recovery`,
    ssoUrl: '/oauth/sso',
    passkey: true,
    captcha: value,
    organization: null,
    client: { name: value, logoUrl: null },
  },
  'code-sent': {
    action: '/oauth/login/email-otp/verify',
    resendAction: '/oauth/login/email-otp/start',
    otherUrl: `/oauth/authorize?state=${value}`,
    params: { state: value },
    token: value,
    email: value,
    isAgain: true,
    error: 'email_code.error.code',
    captcha: null,
    client: { name: value, logoUrl: null },
  },
  'sign-in-passkey': {
    params: { state: value },
    error: 'sign_in.notice.not_member',
    organization: value,
    client: { name: value, logoUrl: null },
  },
  consent: {
    action: '/oauth/consent',
    params: { state: value, session: value },
    email: value,
    scopes: ['openid', 'profile', 'email', 'org', 'permissions'],
    destination: value,
    isAskedAlways: true,
    days: 90,
    accountUrl: `/oauth/account?client_id=${value}`,
    otherUrl: `/oauth/authorize?state=${value}`,
    client: { name: value, logoUrl: null },
  },
  'select-account': {
    action: '/oauth/authorize',
    params: { state: value },
    identity: { email: value },
    client: { name: value, logoUrl: `https://cdn.example.com/${value}` },
  },
  'mfa-challenge': {
    params: { state: value },
    token: value,
    email: value,
    otherUrl: `/oauth/authorize?state=${value}`,
    factor: 'totp',
    others: ['webauthn', 'email_otp', 'recovery_code'],
    isSent: false,
    isAgain: false,
    isRemembered: false,
    rememberDays: 30,
    error: 'mfa_challenge.error.totp',
    client: { name: value, logoUrl: null },
  },
  'mfa-enroll': {
    action: '/oauth/mfa/enroll',
    params: { state: value },
    token: value,
    factors: ['totp', 'webauthn', 'email_otp'],
    until: new Date('2026-03-08T12:00:00Z'),
    client: { name: value, logoUrl: null },
  },
  'mfa-enroll-totp': {
    action: '/oauth/mfa/totp/enroll',
    otherAction: '/oauth/mfa/enroll',
    params: { state: value },
    token: value,
    sealed: value,
    qrSvg: '<svg viewBox="0 0 1 1"></svg>',
    uri: `otpauth://totp/${value}`,
    key: value,
    error: 'mfa_enroll_totp.error',
    client: { name: value, logoUrl: null },
  },
  'mfa-enroll-email': {
    sendAction: '/oauth/mfa/email-otp/enroll/send',
    verifyAction: '/oauth/mfa/email-otp/enroll/verify',
    otherAction: '/oauth/mfa/enroll',
    params: { state: value },
    token: value,
    email: value,
    isSent: true,
    isAgain: true,
    error: 'mfa_challenge.error.email_otp',
    client: { name: value, logoUrl: null },
  },
  'mfa-enroll-webauthn': {
    otherAction: '/oauth/mfa/enroll',
    params: { state: value },
    token: value,
    client: { name: value, logoUrl: null },
  },
  'recovery-codes': {
    action: '/oauth/mfa-enroll-codes',
    params: { state: value },
    token: value,
    codesToken: value,
    codes: [value, value],
    nextUrl: '/oauth/authorize?client_id=x',
    accountUrl: '/oauth/account?client_id=x',
    client: { name: value, logoUrl: null },
  },
  'mfa-expired': { texts: 'code_used', againUrl: `/oauth/authorize?state=${value}` },
  'mfa-refused': { otherUrl: `/oauth/authorize?login=${value}` },
  'method-refused': {
    title: 'method_refused.title',
    message: 'method_refused.others',
    ways: [
      {
        text: 'method_refused.by_provider_of',
        values: { organization: value },
        url: `/oauth/sso?state=${value}`,
      },
    ],
    recovery: { token: value, isWrong: true },
    recoveryUrl: `/oauth/authorize?state=${value}`,
    otherUrl: `/oauth/authorize?login=${value}`,
    params: { state: value },
  },
  'sso-leave': { url: `https://idp.example.com/${value}`, client: { name: value, logoUrl: null }, to: 'sign_out' },
  'form-post': { action: `https://app.example.com/${value}`, params: { state: value }, hasButton: true },
  'sso-failed': {
    title: 'sso_failed.refused.title',
    message: 'sso_failed.refused.message',
    code: value,
    requestId: value,
    againUrl: `/oauth/authorize?state=${value}`,
    againText: 'sso_failed.another',
    otherUrl: `/oauth/authorize?state=${value}`,
    recoveryUrl: `/oauth/authorize?state=${value}`,
  },
  'sso-someone-else': {
    action: '/sso/complete',
    params: { request: value, answer: value },
    other: value,
    email: value,
    stayUrl: `/oauth/account?client_id=${value}`,
    client: { name: value, logoUrl: null },
  },
  'sso-test': { action: '/sso/test', token: value, connection: value },
  'sso-test-void': { code: value },
  'sso-test-done': {
    connection: value,
    title: 'sso_test.refused.title',
    message: 'sso_test.refused.message',
    code: value,
    reason: 'sso_test.reason.domain_not_verified',
    detail: value,
  },
  logout: { action: '/oauth/logout', params: { state: value }, email: value, client: { name: value } },
  'admin-signed-in': { accountName: value },
  'admin-mfa-elsewhere': {},
  'choose-application': {
    action: '/v1/auth/sso/select-application',
    token: value,
    applications: [{ id: value, name: value, accountName: value }],
  },
  'still-signed-in': {},
  'signed-out': { clientUrl: `https://app.example.com/${value}`, isUnconfirmed: true, isOver: false },
  error: {
    title: 'error.request.title',
    message: 'error.request.message',
    detail: value,
    code: value,
    requestId: value,
    retryAfterSeconds: 90,
    accountUrl: '/oauth/account?client_id=x',
  },
  'verify-email': {
    action: '/v1/auth/verify-email',
    declineAction: '/v1/auth/verify-email/decline',
    token: value,
    accountName: value,
    email: value,
    asksPassword: true,
    error: 'verify_email.error.password',
  },
  'registration-declined': {},
  'email-verified': { accountName: value, accountSlug: value, nextUrl: value },
  'choose-password': {
    action: '/v1/auth/password/reset',
    token: value,
    purpose: 'reset',
    email: value,
    error: 'choose_password.error.breached',
  },
  'password-saved': { nextUrl: value },
  'confirm-email-change': {
    action: '/v1/auth/email/confirm',
    token: value,
    email: value,
    asksPassword: true,
    error: 'confirm_email_change.error.password',
  },
  'email-change-done': { email: value, nextUrl: value },
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
  'invite-accepted': { accountName: value, nextUrl: value },
  'invite-invalid': { nextUrl: value, isAccepted: false, client: { name: value, logoUrl: value } },
  'link-invalid': { nextUrl: value, isOfPassword: false },
  ...everyAccountPage(value),
  ...everySignUpPage(value),
});

const everySignUpPage = (value: string): SignUpPages => {
  const client = { name: value, logoUrl: null };
  return {
    'sign-up': {
      action: '/oauth/register',
      params: { state: value },
      email: value,
      firstName: value,
      lastName: value,
      minLength: 8,
      error: 'sign_up.error.breached',
      captcha: value,
      signInUrl: `/oauth/authorize?state=${value}`,
      client,
    },
    'identity-invite': {
      action: '/oauth/invite',
      token: value,
      placeName: value,
      inviter: value,
      email: value,
      firstName: value,
      lastName: value,
      asksNames: true,
      asksPassword: true,
      minLength: 8,
      error: 'sign_up.error.too_short',
      client,
    },
    'identity-invite-accepted': {
      placeName: value,
      email: value,
      opensClient: true,
      other: value,
      nextUrl: value,
      client,
    },
    'confirm-sign-up': {
      action: '/oauth/verify-email',
      token: value,
      email: value,
      asks: 'password',
      error: 'confirm_sign_up.error.password',
      client,
    },
    'sign-up-confirmed': { email: value, other: value, nextUrl: `/oauth/authorize?state=${value}`, client },
    'link-void': { resendToken: value, forgotUrl: `/oauth/password/forgot?state=${value}`, nextUrl: value, client },
    'mail-sent': { nextUrl: value, client },
    'forgot-password': {
      action: '/oauth/password/forgot',
      params: { state: value },
      email: value,
      error: 'sign_up.error.email_invalid',
      signInUrl: `/oauth/authorize?state=${value}`,
      client,
    },
    'reset-password': {
      action: '/oauth/password/reset',
      token: value,
      email: value,
      minLength: 8,
      error: 'sign_up.error.breached',
      client,
    },
    'password-reset-done': { email: value, other: value, nextUrl: value, client },
  };
};

const everyAccountPage = (value: string): AccountPages => {
  const common = { params: { client_id: value, session: value }, query: '', client: { name: value, logoUrl: null } };
  const [then, now] = [new Date('2026-02-01T12:00:00Z'), new Date('2026-03-01T12:00:00Z')];
  const id = '0192f2a0-3c1d-7b8e-9d53-0f3f6a1f8c12';
  const device = { browser: value, system: value };
  const times = { enrolledAt: then, lastUsedAt: now };
  const factor = { id, kind: 'totp', name: 'factor.totp', label: value, signsIn: false, ...times } as const;
  return {
    account: {
      ...common,
      now,
      done: 'account.done.session_ended',
      siteUrl: `https://app.example.com/${value}`,
      person: { name: value, email: value },
      changesEmail: true,
      password: { isSet: true, changedAt: then },
      factors: [factor, { ...factor, label: null, lastUsedAt: null }, { ...factor, kind: 'webauthn' }],
      takesPasskeys: true,
      showKeyUrl: '/oauth/authorize?client_id=shop&destination=account',
      addable: ['webauthn', 'email_otp'],
      cameByMail: true,
      isBound: false,
      recoveryCodesLeft: 9,
      sessions: [
        { id, device, isCurrent: true, isOpen: true, createdAt: now, authenticatedAt: now },
        { id: `${id.slice(0, -1)}3`, device, isCurrent: false, isOpen: false, createdAt: then, authenticatedAt: now },
      ],
      devices: [{ id, device, isCurrent: true, createdAt: then, expiresAt: now }],
      devicesNotShown: 1,
      applicationsNotShown: 1,
      applications: [
        { id, name: value, mark: null, since: then, scopes: null },
        { id, name: value, mark: value, since: then, scopes: ['openid', 'email'] },
      ],
    },
    'account-password': {
      ...common,
      email: value,
      hasPassword: true,
      minLength: 8,
      error: 'account.password.error.wrong',
    },
    'account-totp': {
      ...common,
      secret: 'JBSWY3DPEHPK3PXP',
      uri: `otpauth://totp/${encodeURIComponent(value)}?secret=JBSWY3DPEHPK3PXP`,
      qrSvg: '<svg viewBox="0 0 2 2"><path d="M0 0h2v2H0z"/></svg>',
      sealed: 'k1.c2VhbGVk',
      label: value,
      error: 'account.factor.error.code',
    },
    'account-webauthn': common,
    'account-email': {
      ...common,
      present: value,
      typed: value,
      isSent: true,
      isAgain: true,
      error: 'account.factor.error.code',
    },
    'account-email-otp': { ...common, email: value, isSent: true, isAgain: true, error: 'account.factor.error.code' },
    'account-remove': { ...common, factor, isOnlyOne: true, isRequired: false, addable: ['totp'] },
    'account-name': { ...common, factor },
    'account-recovery': { ...common, left: 3 },
    'account-codes': { ...common, codes: ['ABCD-EFGH-IJKL-MNOP', 'QRST-UVWX-YZ23-4567'] },
  };
};

const render = <P extends keyof Pages>(name: P, values: Pages[P], branding?: Branding, locale: 'en' | 'de' = 'en') =>
  renderPage(name, { locale, nonce, branding }, values);

const names = Object.keys(everyPage('')) as (keyof Pages)[];
const signIn = everyPage('ana@example.com')['sign-in'];
const acme: Branding = { name: 'Acme', logo_url: null, primary_color: '#0a2540', support_email: 'help@acme.example' };

/** As large as that of a real person's app. */
let picture = '';
beforeAll(async () => {
  const uri = `otpauth://totp/Acme:ana.maria.musterfrau@example.com?issuer=Acme&secret=${'JBSWY3DP'.repeat(4)}`;
  picture = await QRCode.toString(uri, { type: 'svg', errorCorrectionLevel: 'L' });
});

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
    // Tags and their attributes' names, without anything in quotes.
    const structure = (html: string) => html.replace(/"[^"]*"/g, '""').match(/<[^>]*>/g);
    for (const branded of [true, false]) {
      const html = page('"><script>alert(1)</script>\'&', branded);
      expect(structure(html)).toEqual(structure(page('x', branded)));
      expect(html).toContain(`<html lang="${locale}">`);
      expect(html).not.toMatch(/undefined|\[object|\{[a-z_]+\}/);
    }
  });

  test('a name cannot reverse the words after it, and a parameter stays as it came', () => {
    const turning = 'Bank\u202eknab \u2066live';
    const html = renderPage(
      'consent',
      { locale, nonce, branding: { ...acme, name: turning } },
      everyPage(turning).consent,
    );
    const shown = html.replace(/<[^>]*>/g, '');
    expect(shown).toContain('Bank knab live');
    expect(shown).not.toMatch(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/);
    expect(html).toContain(`<input type="hidden" name="state" value="${turning}">`);
    const account = renderPage('account', { locale, nonce }, everyPage(turning).account);
    expect(account).toContain('Bank knab live · ');
  });

  test.each(names)('%s is one small response', (name) => {
    const values = { ...everyPage('ana@example.com')[name] };
    if ('qrSvg' in values) values.qrSvg = picture;
    const html = renderPage(name, { locale, nonce, branding: acme, scripts: ['webauthn'] }, values);
    expect(gzipSync(html).length).toBeLessThan(9_000); // the aim is 30 kB; the page with a picture is the largest
    expect(html).not.toMatch(/<link (?!rel="icon" href="(?:data:|https:\/\/cdn\.example\.com))|<iframe|@import|url\(/);
  });

  test.each(names)('%s has a title, one heading, and a label for each field', (name) => {
    const html = renderPage(name, { locale, nonce, branding: acme }, everyPage('ana@example.com')[name]);
    expect(/<title>([^<]*)<\/title>/.exec(html)?.[1]).toMatch(/^\S.* · Acme$/);
    expect(html.match(/<h1[ >]/g)).toHaveLength(1);
    expect(html.match(/<main[ >]/g)).toHaveLength(1);
    const labelled = new Set([...html.matchAll(/<label[^>]* for="([^"]+)"/g)].map(([, id]) => id));
    const inLabels = html.replace(/<label[^>]*>.*?<\/label>/gs, '');
    for (const [field] of inLabels.matchAll(/<(?:input|select|textarea)\b[^>]*>/g)) {
      if (/ hidden[ >]|type="hidden"/.test(field)) continue; // such as the username for password managers
      expect(labelled).toContain(/ id="([^"]+)"/.exec(field)?.[1]);
    }
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('every text that a template names exists', () => {
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.eta'))) {
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
  test('repeats the OAuth parameters and asks password managers for the right fields', () => {
    const html = render('sign-in', { ...signIn, params: { client_id: 'portal', state: 'a b' } });
    expect(html).toContain('<input type="hidden" name="client_id" value="portal">');
    expect(html).toContain('<input type="hidden" name="state" value="a b">');
    expect(html).toContain('<form method="post" action="/oauth/authorize">');
    expect(html).toMatch(/name="email" type="email"[^>]* autocomplete="username webauthn"/);
    expect(html).toMatch(/name="password" type="password" autocomplete="current-password"/);
  });

  test('focuses the first empty field', () => {
    expect(render('sign-in', { ...signIn, email: '' })).toMatch(/id="email"[^>]* autofocus>/);
    expect(render('sign-in', { ...signIn, email: '' })).not.toMatch(/id="password"[^>]* autofocus>/);
    const known = { ...signIn, resendTicket: null };
    expect(render('sign-in', known)).toMatch(/id="password"[^>]* autofocus>/);
  });

  test('marks no field as wrong if the address has to be confirmed, and focuses the button that sends the link', () => {
    const html = render('sign-in', { ...signIn, error: 'sign_in.error.unverified', resendTicket: 'ticket' });
    expect(html).not.toContain('aria-invalid="true"');
    expect(html.match(/<[^>]* autofocus>/g)).toEqual([expect.stringMatching(/^<button/)]);
  });

  test('announces an error and links it to the fields; a notice marks none', () => {
    const wrong = render('sign-in', { ...signIn, resendTicket: null });
    expect(wrong).toMatch(/id="message" role="alert"/);
    expect(wrong.match(/aria-invalid="true" aria-describedby="message"/g)).toHaveLength(2);
    expect(wrong).toContain('<title>Error: ');
    const notice = render('sign-in', { ...signIn, error: 'sign_in.notice.check_mail' });
    expect(notice).toContain('aria-describedby="message"');
    expect(notice).not.toContain('aria-invalid="true"');
    expect(notice).not.toContain('<title>Error: ');
    expect(render('sign-in', { ...signIn, error: null })).not.toContain('role="alert"');
  });
});

describe('what was refused', () => {
  const everyForm = everyPage('ana@example.com');
  test.each([
    ['sign-in', 'sign_in.error.no_provider', ['email'], ['email']],
    ['sign-in', 'sign_in.error.password_missing', ['password'], ['password']],
    ['sign-up', 'sign_up.error.email_invalid', ['email'], ['email']],
    ['sign-up', 'sign_up.error.breached', ['password'], ['password']],
    ['sign-up', 'sign_up.error.name', ['first_name', 'last_name'], ['first_name']],
    ['identity-invite', 'sign_up.error.too_short', ['password'], ['password']],
    ['identity-invite', 'sign_up.error.name', ['first_name', 'last_name'], ['first_name']],
    ['accept-invite', 'accept_invite.error.password_missing', ['password'], ['password']],
    ['accept-invite', 'accept_invite.error.incomplete', ['first_name', 'last_name'], ['first_name']],
    ['account-email', 'account.email.error.unchanged', ['email'], ['email']],
    ['account-password', 'account.password.error.wrong', ['current_password'], ['current_password']],
    ['account-password', 'account.password.error.too_short', ['new_password'], ['new_password']],
  ] as const)('on %s, %s marks its field, where the person continues', (name, error, marked, focused) => {
    const more = { asksNames: true, asksPassword: true, resendTicket: null, isSent: false };
    const html = render(name, { ...everyForm[name], ...more, error } as never);
    const fields = html.match(/<input (?!type)[^>]*>/g) ?? [];
    const namesOf = (attribute: string) =>
      fields.filter((field) => field.includes(attribute)).map((field) => / name="([^"]+)"/.exec(field)?.[1]);
    expect(namesOf(' aria-invalid="true"')).toEqual(marked);
    expect(namesOf(' autofocus')).toEqual(focused);
    const isAbout = fields.filter((field) => /aria-describedby="message/.test(field)).length;
    expect(isAbout).toBe(marked.length);
    // The password's rule is still linked to it.
    const ruled = fields.filter((field) => /aria-describedby="(?:message )?rule"/.test(field)).length;
    expect(ruled).toBe(html.includes('id="rule"') ? 1 : 0);
  });

  test.each([
    ['sign-in', { error: 'sign_in.error.unverified', resendTicket: 'ticket' }],
    ['code-sent', { error: 'email_code.error.void' }],
    ['code-sent', { error: 'sign_in.error.captcha' }],
    ['mfa-challenge', { error: 'mfa_challenge.error.send_too_often', factor: 'email_otp', isSent: false }],
    ['mfa-enroll-email', { error: 'mfa_challenge.error.send_too_often', isSent: false }],
  ] as const)('on %s, %j is linked to the button where the person continues', (name, more) => {
    const html = render(name, { ...everyForm[name], isAgain: false, ...more } as never);
    const focused = html.match(/<[^>]* autofocus[^>]*>/g);
    expect(focused).toEqual([expect.stringMatching(/^<button .* aria-describedby="message"/)]);
  });

  test('marks no field if no code can be mailed', () => {
    const shown = { ...everyForm['mfa-challenge'], error: 'mfa_challenge.error.send_unavailable' as const };
    const html = render('mfa-challenge', shown);
    expect(html).not.toContain('aria-invalid="true"');
    expect(html).toMatch(/<input id="code"[^>]* autofocus aria-describedby="message">/);
  });

  test.each([
    ['mfa-challenge', { error: 'mfa_challenge.error.send_too_often', factor: 'email_otp' }],
    ['mfa-enroll-email', { error: 'mfa_challenge.error.send_too_often' }],
    ['account-email', { error: 'account.error.too_many_codes', retryAfterSeconds: 90 }],
    ['account-email-otp', { error: 'account.error.too_many_codes', retryAfterSeconds: 90 }],
  ] as const)('on %s, %j leaves the field of the latest code, and does not mark it as wrong', (name, more) => {
    const html = render(name, { ...everyForm[name], isSent: true, isAgain: false, ...more } as never);
    expect(html).not.toContain('aria-invalid="true"');
    expect(html).toMatch(/<input id="code"[^>]* autofocus aria-describedby="message">/);
    if ('retryAfterSeconds' in more) expect(html).toContain('Try again in 2 minutes.');
  });

  test('marks no field if none of a sign-up is wrong, and is linked to the one where the person continues', () => {
    const html = render('sign-up', { ...everyForm['sign-up'], error: 'sign_up.error.captcha' });
    expect(html).not.toContain('aria-invalid="true"');
    expect(html).toMatch(/<input id="password"[^>]* aria-describedby="message rule" autofocus>/);
  });

  test.each(['code-sent', 'mfa-challenge', 'mfa-enroll-email', 'account-email', 'account-email-otp'] as const)(
    '%s says that another code was sent, and only then',
    (name) => {
      const shown = { ...everyForm[name], error: null };
      const note = /<p class="alert note" id="note" role="status">[^<]*[Ee]arlier codes no longer work\.<\/p>/;
      const again = render(name, { ...shown, factor: 'email_otp', isSent: true, isAgain: true } as never);
      expect(again).toMatch(note);
      // Where the person continues: what is there when a page loads is not read out by itself.
      expect(again).toMatch(/<input id="code"[^>]* autofocus aria-describedby="note">/);
      expect(render(name, { ...shown, isAgain: false } as never)).not.toContain('role="status"');
    },
  );
});

test('a recovery code that is pasted into the app code’s field is not cut', () => {
  const challenge = everyPage('x')['mfa-challenge'];
  const longest = (factor: typeof challenge.factor) =>
    Number(/id="code"[^>]* maxlength="(\d+)"/.exec(render('mfa-challenge', { ...challenge, factor }))?.[1]);
  for (const factor of ['totp', 'recovery_code'] as const) {
    expect(longest(factor)).toBeGreaterThan('ABCD-EFGH-IJKL-MNOP'.length + 10);
  }
});

describe('sign-in-address', () => {
  const page = everyPage('ana@example.com')['sign-in-address'];
  const shown = (more: Partial<typeof page>) => render('sign-in-address', { ...page, error: null, ...more });

  test('explains what happens to the address', () => {
    expect(shown({ passkey: false })).toContain('Your organization signs you in.');
    expect(shown({ passkey: true })).toContain('or use a passkey.');
    const code = shown({ way: 'code', action: '/oauth/login/email-otp/start' });
    expect(code).toContain('We will email you a code');
    expect(code).toMatch(/<button class="button">Email me a code</);
  });

  test('says that a passkey needs scripts only if no other method of ours is enabled', () => {
    expect(shown({ passkey: true })).toContain('data-no-webauthn');
    expect(shown({ passkey: true, way: 'code' })).not.toContain('data-no-webauthn');
    expect(shown({ passkey: false })).not.toContain('webauthn');
  });
});

test('buttons that are only the names of other second steps are in a group that says what they do', () => {
  const html = render('mfa-challenge', everyPage('ana@example.com')['mfa-challenge']);
  expect(html).toMatch(
    /<div class="or" role="group" aria-labelledby="others">\s*<p class="fine" id="others">Confirm in another way<\/p>/,
  );
});

test('of several sessions in one browser each button names the one that it ends', () => {
  const html = render('account', everyPage('ana@example.com').account);
  const buttons = [...html.matchAll(/<button [^>]*name="(?:end|forget)" value="[0-9a-f-]{36}"[^>]*>/g)];
  expect(buttons).toHaveLength(2);
  for (const [button] of buttons) {
    const [, id = ''] = / aria-describedby="([^"]+)"/.exec(button) ?? [];
    expect(html).toContain(`<span class="hint" id="${id}">`);
  }
});

test('of what can be changed about a sign-in, each link names what it changes', () => {
  const page = everyPage('ana@example.com').account;
  const names = (isSet: boolean) => {
    const html = render('account', { ...page, password: { isSet, changedAt: null } });
    const links = [
      ...html.matchAll(/<a class="button small" href="\/oauth\/account\/(?:email|password)[^>]*aria-label="([^"]*)"/g),
    ];
    return links.map(([, name]) => name);
  };
  expect(names(true)).toEqual(['Change: Email', 'Change: Password']);
  expect(names(false)).toEqual(['Change: Email', 'Choose one: Password']);
});

test('on administrators’ pages a pasted text is cut to what the API accepts as a password, which then says that it is too long', () => {
  for (const name of ['choose-password', 'accept-invite', 'verify-email', 'confirm-email-change'] as const) {
    const html = render(name, everyPage('ana@example.com')[name]);
    expect(html).toMatch(/name="password" type="password" autocomplete="[a-z-]+" maxlength="1024"/);
  }
});

test('of two passwords each button that shows one names it', () => {
  const page = everyPage('ana@example.com')['account-password'];
  const buttons = (hasPassword: boolean) => {
    const html = render('account-password', { ...page, hasPassword });
    return [...html.matchAll(/<button class="reveal"[^>]* aria-label="([^"]*)"/g)].map(([, label]) => label);
  };
  expect(buttons(true)).toEqual(['Show password: Current password', 'Show password: New password']);
  expect(buttons(false)).toEqual(['Show password']);
  expect(render('sign-in', signIn)).toContain(' aria-label="Show password" ');
});

test('a page without a brand has no footer: an empty landmark would be announced', () => {
  expect(render('sign-in', signIn)).not.toContain('<footer');
  expect(render('sign-in', signIn, { ...acme, support_email: null })).toContain('<footer class="foot">');
});

test('a list without bullets says that it is a list, which VoiceOver otherwise does not announce in Safari', () => {
  const lists = names.flatMap((name) => render(name, everyPage('ana@example.com')[name]).match(/<ul\b[^>]*>/g) ?? []);
  expect(lists.length).toBeGreaterThan(5);
  for (const list of lists) expect(list).toContain(' role="list"');
});

test('an error page says when to try again, rounded up', () => {
  const error = { ...everyPage('x').error, title: 'error.too_many.title', message: 'error.too_many.message' } as const;
  expect(render('error', { ...error, retryAfterSeconds: 40 })).toContain('Try again in 40 seconds.');
  expect(render('error', { ...error, retryAfterSeconds: 61 }, undefined, 'de')).toContain('in 2 Minuten');
  expect(render('error', { ...error, retryAfterSeconds: undefined, requestId })).not.toContain('Try again in');
});

test('a page links to the web, to itself and to an app, but never to a script', () => {
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
  expect(render('signed-out', { clientUrl: 'javascript:alert(1)', isUnconfirmed: false, isOver: false })).not.toContain(
    'javascript:',
  );
});

describe('colors', () => {
  const anyColor = fc.integer({ min: 0, max: 0xffffff }).map((n): Color => `#${n.toString(16).padStart(6, '0')}`);

  test('have the contrast of WCAG', () => {
    expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 5);
    expect(contrast('#ffffff', '#ffffff')).toBe(1);
    expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
  });

  test('allow readable text on any brand color, at rest and hovered, and links only in a readable one', () => {
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

  test('include one too pale for links, which is still the button’s', () => {
    const html = render('sign-in', signIn, { ...acme, primary_color: '#ffd400' });
    expect(html).toContain('--accent: #ffd400; --on-accent: #000000;');
    expect(html).toContain('--link: var(--text)');
    expect(render('sign-in', signIn, { ...acme, primary_color: 'red' })).not.toContain('--accent: red');
  });

  test('a long word in a German heading has a hyphen where a phone breaks it', () => {
    const html = render('account-recovery', everyPage('ana@example.com')['account-recovery'], acme, 'de');
    expect(html).toMatch(/<html lang="de">/);
    expect(html).toMatch(/h1:lang\(de\), .* \{ hyphens: auto; -webkit-hyphens: auto;/);
  });

  test('a long word in a German button has a break opportunity: not every browser hyphenates', () => {
    const words = /Wiederherstellung|Sicherheitsschlüssel|Identitätsanbieter/;
    for (const [name, data] of Object.entries(everyPage('Acme')) as [keyof Pages, never][]) {
      const html = render(name, data, acme, 'de').replace(/<script[\s\S]*?<\/script>/g, '');
      const buttons = [...html.matchAll(/<(a|button) class="(?:button|choice)[^>]*>([\s\S]*?)<\/\1>/g)];
      for (const [, , button] of buttons) expect([name, button]).not.toEqual([name, expect.stringMatching(words)]);
    }
    expect(factorInMails('de', 'recovery_code')).toBe('Wiederherstellungscode');
  });

  test('a soft hyphen of the page is not in the tab, nor in a file’s name: both are searched for the word', () => {
    const all = Object.entries(everyPage('ana@example.com')) as [keyof Pages, never][];
    const pages = all.map(([name, data]) => render(name, data, acme, 'de'));
    expect(pages.some((html) => /<h1[^>]*>[^<]*\u00ad/.test(html))).toBe(true);
    expect(pages.some((html) => /<h1[^>]*>[^<]*\u2011/.test(html))).toBe(true);
    for (const html of pages) expect(/<title>(.*)<\/title>/.exec(html)?.[1]).not.toMatch(/[\u00ad\u2011]/);
  });

  test('the tab has the logo, the tile or our sign, and no name becomes markup there', () => {
    const iconIn = (html: string) => /<link rel="icon" href="([^"]*)"/.exec(html)?.[1] ?? '';
    const drawn = (html: string) => Buffer.from(iconIn(html).split('base64,')[1] ?? '', 'base64').toString();
    const logo = 'https://cdn.example.com/logo.png';
    expect(iconIn(render('sign-in', signIn, { ...acme, logo_url: logo }))).toBe(logo);
    expect(drawn(render('sign-in', signIn, { ...acme, name: 'élan' }))).toMatch(
      /fill="#0a2540".*fill="#ffffff">&#201;</,
    );
    expect(drawn(render('sign-in', signIn, { ...acme, name: '<b>' }))).toContain('>&#60;</text>');
    expect(drawn(render('sign-in', signIn))).toContain('<path d="M4 21V11');
  });

  test('the tile and the circles for a name have its first character as readers count them: a flag is not one letter of it', () => {
    const flag = render('sign-in', signIn, { ...acme, name: '\u{1f1e9}\u{1f1ea} Berlin' });
    expect(flag).toContain('aria-hidden="true">\u{1f1e9}\u{1f1ea}</span>');
    const person = { name: 'e\u0301lan', email: 'x@example.com' };
    const account = render('account', { ...everyPage('x').account, person });
    expect(account).toContain('<span class="avatar big" aria-hidden="true">E\u0301</span>');
    const applications = [{ id: 'x', name: '\u{1f469}\u200d\u{1f4bb} Dev', accountName: 'x' }];
    expect(render('choose-application', { action: '/', token: 'x', applications })).toContain(
      'aria-hidden="true">\u{1f469}\u200d\u{1f4bb}</span>',
    );
    // Marks without end would be drawn over the page.
    expect(initialOf(`z${'\u0301'.repeat(99)}`)).toBe('Z');
    expect(initialOf('')).toBe('');
  });

  test('the style sheet has the surfaces against which contrast is computed', () => {
    const styles = readFileSync(join(folder, 'styles.eta'), 'utf8');
    expect(styles).toContain(`--page: ${surfaces.light[1]}; --card: ${surfaces.light[0]};`);
    expect(styles).toContain(`--page: ${surfaces.dark[1]}; --card: ${surfaces.dark[0]};`);
    for (const edge of Object.values(controls)) expect(styles).toContain(`--control: ${edge};`);
  });
});

test.each([
  ['de', /Verwaltung|(?:einen|ein|dem) Administrator\b(?! hat)/], // „die Administration“ is whom one turns to
  ['de', /zweiter Faktor/], // „Schritt“
  ['de', /\bProviders?\b/], // „Anbieter“
  ['de', /verifiziert/], // „bestätigt“
  ['en', /second factor/], // "second step"
  ['en', /Check your mail\b/], // "email"
  ['en', /makes this one void/], // "invalid"
  ['en', /works no longer/], // "no longer works"
  ['en', /\b[Gg]o on\b/], // "continue"
  ['en', /\bmails?\b/], // "email"
  ['en', /\btries\b/], // "attempts"
  ['en', /any more|\banew\b|\b[Ww]hoever\b/], // "no longer", "again", "the person who"
  ['de', /Inhaber/], // the role is called “Owner”, as in the API
  ['de', /Mailprogramm|Passwort gesetzt|behält|\bbis \{(?:expires_at_text|until_text|date)\}/],
  ['en', /['"`]|\.\.\./], // typographic ones
  ['de', /['"`]|\.\.\./],
] as const)('in %s one thing has one name: not %s', (locale, other) => {
  const texts = JSON.parse(readFileSync(join(folder, '../locales', `${locale}.json`), 'utf8')) as Record<
    string,
    string
  >;
  const named = Object.entries(texts).filter(([, text]) => other.test(text));
  expect(named).toEqual([]);
});

test('“E-Mail” does not break in a page’s heading, and has a plain hyphen everywhere else', () => {
  for (const key of textKeys('de')) {
    const isHeading = key.endsWith('.title') && !key.startsWith('email.');
    const other = isHeading ? 'E-Mail' : 'E\u2011Mail';
    expect([key, textWith('de', key, String)]).not.toEqual([key, expect.stringContaining(other)]);
  }
});

test('one organization’s provider is a button; several have their names in a list, in the language’s order', () => {
  const page = everyPage('Acme')['method-refused'];
  const links = (ways: typeof page.ways) =>
    render('method-refused', { ...page, ways }).match(/<a class="(?:button|who)" [^>]*>[^<]*/g);
  expect(links(page.ways)).toEqual([expect.stringMatching(/"button".*>With the identity provider of Acme$/)]);
  const several = ['Team 10', 'Globex', 'Ärzte', 'Team 9', 'acme'].flatMap(
    (name) => everyPage(name)['method-refused'].ways,
  );
  expect(links(several)?.map((link) => link.replace(/.*>/, ''))).toEqual([
    'acme',
    'Ärzte',
    'Globex',
    'Team 9',
    'Team 10',
  ]);
});

test('a dead link and an ended sign-in say how to continue, whatever is known of them', () => {
  const nothing = { resendToken: null, forgotUrl: null };
  for (const more of [
    { nextUrl: null, client: null },
    { nextUrl: '/oauth/authorize', client: { name: 'Shop', logoUrl: null } },
  ]) {
    expect(render('link-void', { ...nothing, ...more })).toContain('If you have used it before, all is well');
  }
  expect(render('mfa-expired', { texts: 'mfa_expired', againUrl: null })).toContain('Go back to the application');
});

test.each(locales)(
  'a passkey that does not open this need not be deleted, in %s: it may be valid for another application',
  (locale) => {
    expect(text(locale, 'webauthn.error.unknown')).not.toMatch(/delete|remove|lösch|entfern/i);
  },
);

test('with large letters a link beside a label has its own line, and a logo, or its name if it does not load, is visible', () => {
  const styles = readFileSync(join(folder, 'styles.eta'), 'utf8');
  expect(styles).toMatch(/@container \(max-width: 17rem\) \{\s+\.aside \{ grid-column: 1 \/ -1;/);
  expect(styles).toContain('.mark img { padding: .25rem .5rem; color: #181b21; background: #fff;');
  // In high contrast mode browsers use a white background for it as well: most logos are dark.
  expect(styles).toMatch(/\.mark img \{ [^}]*forced-color-adjust: none; \}/);
});

test('every paragraph has a style, and with it a distance to the one before: a warning ran on from the sentence above it', () => {
  for (const name of names) {
    const html = render(name, everyPage('ana@example.com')[name]);
    expect([name, /<main[\s\S]*<\/main>/.exec(html)?.[0]]).toEqual([name, expect.not.stringContaining('<p>')]);
  }
});

test('a badge wraps as a whole: on a narrow phone its border was torn in two', () => {
  expect(readFileSync(join(folder, 'styles.eta'), 'utf8')).toMatch(/^\.badge \{ display: inline-block;/m);
});

test('with large letters nothing is wider than a phone: codes, a label’s words, a badge, a logo', () => {
  const styles = readFileSync(join(folder, 'styles.eta'), 'utf8');
  expect(styles).toContain('minmax(min(11.5rem, 100%), 1fr)');
  expect(styles).toMatch(/^label \{(?!.*overflow-wrap)/m); // of the page: anywhere
  expect(styles).toContain('.field:has(.aside) label { overflow-wrap: break-word; }');
  expect(styles).not.toMatch(/^\.badge .*nowrap/m);
  expect(styles).toContain('max-width: min(12rem, 100%);');
  // At 200 % on 360 pixels “Authenticator” and “Herunterladen” were broken: the margins grew with the letters.
  expect(styles).toContain('padding: 2rem min(1.25rem, 5.6vw) 1.5rem;');
  expect(styles).toContain('padding: .5625rem min(1rem, 4.5vw);');
  // “Umbenennen”, “verwenden”
  expect(styles).toMatch(/^\.row \{.* padding: \.75rem min\(1rem, 4\.5vw\); \}/m);
  expect(styles).toMatch(/^\.button\.small \{.* padding: \.25rem min\(\.75rem, 3\.4vw\);/m);
  expect(styles).toMatch(/^\.choice \{.* padding: \.75rem min\(\.875rem, 3\.9vw\);/m);
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
  ] as const)('%j results in %s', (wishes, expected) => {
    expect(chooseLocale(wishes)).toBe(expected);
  });
});

describe('headers', () => {
  const headers = (formActions: string[], logo = false) => pageHeaders({ nonce, locale: 'de', formActions, logo });

  test('include a policy that lets a form reach the client and the page load nothing', () => {
    expect(
      headers(['https://app.example.com/cb?x=1', 'https://app.example.com/other'])['content-security-policy'],
    ).toBe(
      "default-src 'none'; style-src 'nonce-bm9uY2U'; img-src data:; form-action 'self' https:; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(headers([], true)['content-security-policy']).toContain("img-src 'self' https: data:");
    expect(headers([])).toMatchObject({
      'cache-control': 'no-store',
      'content-language': 'de',
      'x-frame-options': 'DENY',
    });
  });

  test('let one origin frame a page that is for it, if a policy can name it', () => {
    const framed = (framedBy: string) => {
      const all = pageHeaders({ nonce, locale: 'en', formActions: [], framedBy });
      return [/frame-ancestors (.*)$/.exec(all['content-security-policy'])?.[1], all['x-frame-options']];
    };
    expect(framed('https://app.example.com/cb?x=1')).toEqual(['https://app.example.com', undefined]);
    expect(framed('http://127.0.0.1:8080/cb')).toEqual(['http://127.0.0.1:8080', undefined]);
    for (const none of ['http://[::1]:8080/cb', 'com.example.app:/cb', "https://a;script-src'x/"])
      expect(framed(none)).toEqual(["'none'", 'DENY']);
  });

  test('keep a page that is cached to go back to from answering another request', () => {
    const kept = pageHeaders({ nonce, locale: 'de', formActions: [], kept: true });
    expect(kept['cache-control']).toBe('private, max-age=0, must-revalidate');
  });

  test('allow the captcha as the only foreign content, and only where there is one', () => {
    const policyOf = (more: { captcha?: boolean; scripts?: boolean; webauthn?: boolean }) => {
      const all = pageHeaders({ nonce, locale: 'en', formActions: [], ...more });
      return { policy: all['content-security-policy'], referrer: all['referrer-policy'] };
    };
    const turnstile = 'https://challenges.cloudflare.com';
    expect(policyOf({ captcha: true }).policy).toContain(
      `; script-src 'nonce-bm9uY2U' ${turnstile}; frame-src ${turnstile};`,
    );
    expect(policyOf({ captcha: true }).referrer).toBe('strict-origin');
    expect(policyOf({ captcha: true, scripts: true, webauthn: true }).policy).toContain(
      `; script-src 'nonce-bm9uY2U' ${turnstile}; connect-src 'self'; frame-src ${turnstile};`,
    );
    expect(policyOf({ scripts: true }).policy).not.toContain('http');
    expect(policyOf({}).policy).not.toMatch(/http|script-src|frame-src/);
    expect(policyOf({}).referrer).toBe('same-origin');
  });

  test('allow a redirect to an app and a loopback address by their scheme, as to every client', () => {
    const policyOf = (uri: string) => headers([uri])['content-security-policy'];
    expect(policyOf('com.example.app:/cb')).toContain("form-action 'self' com.example.app:;");
    expect(policyOf('http://[::1]:8080/cb')).toContain("form-action 'self' http:;");
    expect(policyOf('http://127.0.0.1:8080/cb')).toContain("form-action 'self' http:;");
  });

  test.each(['https://a;b.example/cb', "https://a'b.example/cb", 'https://a,b.example/cb'])(
    'nothing of the host of %s is read as another part of the policy',
    (uri) => expect(headers([uri])['content-security-policy']).toContain("form-action 'self' https:; base-uri"),
  );

  test('let our own forms still send their origin', () => {
    expect(headers([])['referrer-policy']).toBe('same-origin');
  });

  test('let a client in another window keep its popup; other pages are isolated', () => {
    const policyOf = (isolated: boolean) =>
      pageHeaders({ nonce, locale: 'en', formActions: [], isolated })['cross-origin-opener-policy'];
    expect(policyOf(false)).toBe('unsafe-none');
    expect(policyOf(true)).toBe('same-origin');
    expect(headers([])['cross-origin-opener-policy']).toBe('same-origin');
    const onTheWay = ['sign-in', 'error', 'mfa-expired', 'sso-failed', 'mail-sent', 'logout', 'signed-out'] as const;
    expect(onTheWay.filter(isIsolated)).toEqual([]);
    expect((['account', 'account-password', 'reset-password', 'link-void'] as const).every(isIsolated)).toBe(true);
  });

  test('let only a page with a script run one, and only that of passkeys call the service and use them', () => {
    const without = headers([]);
    expect(without['content-security-policy']).not.toMatch(/script-src|connect-src/);
    expect(without['permissions-policy']).toMatch(/publickey-credentials-get=\(\), publickey-credentials-create=\(\)$/);
    const quiet = pageHeaders({ nonce, locale: 'en', formActions: [], scripts: true });
    expect(quiet['content-security-policy']).toContain(`; script-src 'nonce-${nonce}'; form-action 'self'`);
    expect(quiet['permissions-policy']).toBe(without['permissions-policy']);
    const scripted = pageHeaders({ nonce, locale: 'en', formActions: [], scripts: true, webauthn: true });
    expect(scripted['content-security-policy']).toContain(`; script-src 'nonce-${nonce}'; connect-src 'self'; `);
    expect(scripted['permissions-policy']).toMatch(
      /publickey-credentials-get=\(self\), publickey-credentials-create=\(self\)$/,
    );
  });

  test('let nothing be injected into the policy', () => {
    expect(headers(['https://a;script-src.example/'])['content-security-policy']).not.toContain('script-src');
    expect(() => headers(['not a url'])).toThrow();
    expect(() => pageHeaders({ nonce: "x' 'unsafe-inline", locale: 'en', formActions: [] })).toThrow();
  });
});

test('a page with a form of its own has the script that sends it once, unless it may be sent twice', () => {
  expect(scriptsOf('mfa-challenge')).toEqual(['sent-once']);
  expect(scriptsOf('reset-password')).toEqual(['sent-once', 'reveal']);
  expect(scriptsOf('consent')).toEqual([]);
  expect(scriptsOf('email-change-done')).toEqual([]);
  expect(scriptsOf('sign-in-passkey')).toEqual([]); // the script of passkeys sends its form, and suppresses a second one
});

test('a script’s parts are on its page, hidden until it runs, and nowhere else', () => {
  for (const [script, part] of [
    ['reveal', / type="password"[^>]*>\s*<button class="reveal" [^>]* hidden>/],
    ['codes', /<div class="adds keep" hidden>/],
  ] as const) {
    const having = names.filter((name) => part.test(render(name, everyPage('ana@example.com')[name])));
    expect(having).toEqual(names.filter((name) => scriptsOf(name).includes(script)));
  }
  const fields = names.map((name) => render(name, everyPage('ana@example.com')[name]));
  for (const html of fields)
    expect(html.match(/class="reveal"/g)?.length ?? 0).toBe(html.match(/ type="password"/g)?.length ?? 0);
});

test('a script is below the page, under its nonce, and is small', () => {
  expect(render('sign-in', signIn)).not.toContain('<script');
  const html = renderPage('sign-in', { locale: 'en', nonce, scripts: ['webauthn'] }, signIn);
  const [, attributes, script = ''] = /<\/div>\s*<script([^>]*)>([\s\S]*?)<\/script>\s*<\/body>/.exec(html) ?? [];
  expect(attributes).toBe(` nonce="${nonce}"`);
  expect(script).toMatch(/^\(\(\) => \{/);
  expect(script.length).toBeLessThan(4_200);
  expect(gzipSync(script).length).toBeLessThan(1_750);
});

test('rendering a page costs less than compressing it once', () => {
  const html = render('sign-in', signIn, acme);
  for (let i = 0; i < 500; i++) render('sign-in', signIn, acme);
  const took = (work: () => unknown) => {
    const start = performance.now();
    for (let i = 0; i < 20; i++) work();
    return performance.now() - start;
  };
  // Short rounds, in turns: even on a busy machine some of each are undisturbed.
  const rounds = Array.from({ length: 50 }, () => [
    took(() => render('sign-in', signIn, acme)),
    took(() => gzipSync(html)),
  ]);
  const [made, compressed] = [0, 1].map((which) => Math.min(...rounds.map((round) => round[which] as number)));
  expect(made).toBeLessThan(compressed as number);
});
