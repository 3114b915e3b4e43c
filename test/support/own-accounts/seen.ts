import { readFileSync } from 'node:fs';
import type { LightMyRequestResponse } from 'fastify';
import { baseUrl } from '../api.js';
import { alertOf } from '../mfa.js';
import { hiddenFields } from '../oauth/browser.js';

/** What a browser is shown, or a script is told, in the same words. */
export interface Seen {
  is: string;
  /** The name of the text that says what was wrong. */
  error: string | null;
  /** The factors that a page offers, and whether enrolling one can be put off. */
  factors: string[];
  canWait: boolean;
  /** The hidden fields of the page, or the members of the answer. */
  fields: Record<string, string>;
  /** Where a redirect leads. */
  to: URL | null;
  answer: LightMyRequestResponse;
}

/** The page that shows each error, by its English text. */
const texts = new Map<string, string>();
const pages = [
  'sign_in.',
  'email_code.',
  'mfa_challenge.',
  'mfa_enroll',
  'sign_up.error.',
  'confirm_sign_up.',
  'account.',
];
function gather(text: unknown, name: string): void {
  if (typeof text === 'string') {
    if (pages.some((page) => name.startsWith(page)) && !texts.has(text)) texts.set(text, name);
  } else for (const [key, value] of Object.entries(text as object)) gather(value, name ? `${name}.${key}` : key);
}
gather(JSON.parse(readFileSync('templates/locales/en.json', 'utf8')), '');

const unescaped = (html: string) => html.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&amp;', '&');
const inPage = ({ body }: LightMyRequestResponse, pattern: RegExp) =>
  [...body.matchAll(pattern)].map(([, found]) => found as string);

function redirected(to: URL, answer: LightMyRequestResponse): Seen {
  const query = to.searchParams;
  const seen = { error: null, factors: [], canWait: false, fields: Object.fromEntries(query), to, answer };
  if (to.origin !== baseUrl) return { ...seen, is: 'client', error: query.get('error') };
  if (query.has('codes_token')) return { ...seen, is: `new codes ${to.pathname}` };
  if (query.has('done')) return { ...seen, is: `done ${query.get('done')}` };
  return { ...seen, is: to.pathname };
}

/** The marks by which pages and answers in JSON are told apart; the first that is there counts. */
const marks: readonly (readonly [field: string, is: string])[] = [
  ['recovery_codes', 'codes'],
  ['codes_token', 'codes'],
  ['login_token', 'code-sent'],
  ['challenge_token', 'challenge'],
  ['totp_token', 'enroll-app'],
  ['code_sent', 'enroll-mail'],
  ['factors', 'enroll'],
  ['methods', 'sign-in'],
];

function told(answer: LightMyRequestResponse): Seen {
  const body = answer.json();
  const seen = { error: body.reason ?? null, canWait: body.grace_expires_at != null, fields: body, to: null, answer };
  const is = marks.find(([field]) => field in body)?.[1];
  const code = typeof body.error === 'string' ? body.error : body.error?.code;
  return {
    ...seen,
    factors: body.available_factors ?? body.factors ?? [],
    is: is ?? [answer.statusCode, code].filter(Boolean).join(' '),
  };
}

const refusals: Record<string, string> = {
  mfa_refused: '403 mfa.enrollment_required',
};

function shown(answer: LightMyRequestResponse): Seen {
  const { body, statusCode } = answer;
  const fields = hiddenFields(answer);
  const alert = alertOf(answer);
  const error = alert === null ? null : (texts.get(unescaped(alert)) ?? unescaped(alert));
  const seen = { error, factors: [] as string[], canWait: false, fields, to: null, answer };
  const code = /<dd class="code">([^<]*)</.exec(body)?.[1];
  if (code && statusCode >= 400) return { ...seen, is: `${statusCode} ${code}` };
  if (fields.codes_token || body.includes('id="codes"')) return { ...seen, is: 'codes' };
  if (fields.login_token) return { ...seen, is: 'code-sent' };
  if (fields.challenge_token) {
    const others = inPage(answer, /name="choice" value="([a-z_]+)"/g);
    return { ...seen, is: 'challenge', factors: others };
  }
  if (fields.totp_token) return { ...seen, is: 'enroll-app' };
  if (body.includes('name="factor" value="')) {
    const factors = inPage(answer, /name="factor" value="([a-z_]+)"/g);
    return { ...seen, is: 'enroll', factors, canWait: body.includes('value="later"') };
  }
  if (fields.enrollment_token)
    return { ...seen, is: body.includes('/oauth/mfa/webauthn') ? 'enroll-key' : 'enroll-mail' };
  if (/<form[^>]*action="\/oauth\/(authorize|login\/email-otp\/start)"/.test(body)) return { ...seen, is: 'sign-in' };
  const title = /<h1>([^<]*)</.exec(body)?.[1] ?? '';
  return { ...seen, is: refusals[title] ?? `${statusCode} ${title}` };
}

/** Says what an answer is, whether it is a page, a redirect or JSON. */
export function seenIn(answer: LightMyRequestResponse): Seen {
  const { headers } = answer;
  if (headers.location) return redirected(new URL(String(headers.location), baseUrl), answer);
  if (!String(headers['content-type']).includes('json')) return shown(answer);
  const to = answer.json().redirect_to;
  return to ? redirected(new URL(to, baseUrl), answer) : told(answer);
}
