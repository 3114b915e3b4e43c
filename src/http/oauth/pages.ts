import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/errors.js';
import { type AuthorizeRequest, isAuthorizeParameter } from '../../domain/oidc/authorize-request.js';
import type { Client } from '../../domain/oidc/clients.js';
import { OAuthError } from '../../domain/oidc/oauth-error.js';
import { readParameters } from '../../domain/oidc/parameters.js';
import { withParameters } from '../../domain/oidc/redirect-uris.js';
import { faultOf, framesOf } from '../../platform/faults.js';
import { httpStatusOf, refusalOf, tellWhen } from '../errors.js';
import { chooseLocale, type Locale } from '../pages/locale.js';
import type { Pages } from '../pages/pages.js';
import { type Branding, type PageScript, renderPage } from '../pages/render.js';
import { pageHeaders } from '../pages/security-headers.js';
import { isIsolated, scriptsOf } from '../pages/traits.js';
import { oauthStatusOf } from './oauth-error.js';

/** How an Environment presents itself, and a client of it. */
export interface Looks extends Pick<Client, 'logoUrl'> {
  settings: Pick<Client['settings'], 'branding' | 'defaultLocale'>;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Of whose page a request is, once that is found: whatever goes wrong from there on is told in their looks, too. */
    looks?: Looks | null;
    /** Where the sign-in that it belongs to is begun anew, once that is known to be right; asked for by what refuses alone. */
    way?: (() => { signInUrl: string; forgotUrl: string | null }) | null;
    /** Where the own account is that it belongs to, once somebody is signed in there. */
    accountUrl?: string | null;
  }
}

interface PageOptions {
  status?: number;
  client?: Looks | null;
  uiLocales?: string | null;
  /** Where the answer to the page's form may redirect, besides the service itself. */
  formActions?: readonly string[];
  /** An address whose origin may show it in a frame. */
  framedBy?: string | null;
  scripts?: readonly PageScript[];
  /** Whether it shows the captcha's widget, the one thing that comes from somebody else. */
  captcha?: boolean;
  /** Whether its form goes to somebody else, who may ask where it is from. */
  namesOrigin?: boolean;
}

/** Whether the caller is a script that wants to be told in JSON what a browser is shown (docs/decisions/0006). */
export const wantsJson = ({ headers: { accept = '' } }: FastifyRequest): boolean =>
  /\bapplication\/json\b/i.test(accept) && !/\btext\/html\b/i.test(accept);

/**
 * What answers a form may be gone back to, in the browser that it was shown in: it cannot be fetched again, and without a copy the
 * browser shows an error of its own, and offers to send the form with its password once more. Not so what shows a secret that
 * goes on to count, or the account of somebody who may have signed out since (docs/decisions/0006).
 */
const isKept = ({ method }: FastifyRequest, name: keyof Pages): boolean =>
  method === 'POST' && name !== 'mfa-enroll-totp' && name !== 'form-post' && !name.startsWith('account');

/** A hosted page in the Environment's looks and the reader's language. */
export function sendPage<P extends keyof Pages>(
  request: FastifyRequest,
  reply: FastifyReply,
  name: P,
  values: Pages[P],
  {
    status = 200,
    client = null,
    uiLocales,
    formActions = [],
    framedBy = null,
    scripts = [],
    captcha = false,
    namesOrigin = false,
  }: PageOptions = {},
): FastifyReply {
  const nonce = randomBytes(16).toString('base64');
  const locale = readerLocaleOf(request, { client, asked: { parameters: { ui_locales: uiLocales } } });
  const branding = client ? brandingOf(client) : null;
  const logo = Boolean(client?.logoUrl || branding?.logo_url);
  const kept = isKept(request, name);
  const webauthn = scripts.includes('webauthn');
  const all = [...scripts, ...scriptsOf(name), ...(captcha ? ['captcha' as const] : [])];
  const isolated = isIsolated(name);
  const may = { formActions, framedBy, logo, scripts: all.length > 0, webauthn, captcha, namesOrigin, kept, isolated };
  reply.headers(pageHeaders({ nonce, locale, ...may }));
  return reply.code(status).send(renderPage(name, { locale, nonce, branding, scripts: all }, values));
}

interface Reader {
  client: Pick<Looks, 'settings'> | null;
  asked: { parameters: { ui_locales?: string | null } };
}

/** The language that whoever sent a request reads, on pages and in mails. */
export const readerLocaleOf = ({ headers }: FastifyRequest, { client, asked: { parameters } }: Reader): Locale =>
  chooseLocale({
    uiLocales: parameters.ui_locales,
    acceptLanguage: headers['accept-language'],
    default: client?.settings.defaultLocale,
  });

/** What the pages of a visit have in common. */
export const pageOptions = ({ client, asked }: { client: Client; asked: AuthorizeRequest }): PageOptions => ({
  client,
  uiLocales: asked.parameters.ui_locales,
  formActions: [asked.redirectUri],
});

const brandingOf = ({ settings: { branding } }: Looks): Branding => ({ ...branding, name: branding.name ?? '' });

/** Sends the browser on; a script is told where. A form's answer is fetched with GET, hence 303. */
export function redirect(
  request: FastifyRequest,
  reply: FastifyReply,
  uri: string,
  parameters: Record<string, string | null> = {},
): FastifyReply {
  const target = withParameters(uri, parameters);
  reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer');
  if (wantsJson(request)) return reply.send({ redirect_to: target });
  // A header is ASCII; whatever else a registered URI holds is escaped as a browser would.
  return reply
    .code(303)
    .header('location', target.replace(/[^\x21-\x7e]+/gu, encodeURIComponent))
    .send();
}

/** Answers whatever goes wrong as a page: never a redirect, since nothing malformed is trusted with one. */
export function handlePageErrors(app: FastifyInstance): void {
  app.decorateRequest('looks', null);
  app.decorateRequest('way', null);
  app.decorateRequest('accountUrl', null);
  app.setErrorHandler((error, request, reply) => {
    const refusal = error instanceof OAuthError ? error : refusalOf(error);
    if (!refusal) request.log.error({ fault: faultOf(error), frames: framesOf(error) }, 'unexpected error');
    return sendErrorPage(request, reply, refusal);
  });
}

/** A refusal as a page; null for a fault of ours. A script is told the same in JSON. */
export function sendErrorPage(
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: OAuthError | DomainError | null,
): FastifyReply {
  const status = !refusal
    ? 500
    : refusal instanceof OAuthError
      ? oauthStatusOf(refusal.code)
      : httpStatusOf(refusal.code);
  const code = refusal?.code ?? 'server_error';
  const detail = refusal?.message ?? null;
  const retryAfterSeconds = refusal instanceof DomainError ? refusal.options.retryAfter : undefined;
  if (refusal instanceof DomainError) tellWhen(reply, refusal);
  if (wantsJson(request)) {
    return reply.code(status).header('cache-control', 'no-store').send({ error: code, error_description: detail });
  }
  const texts = isStepAlone(request, status) ? 'step' : textsOf(status, code);
  const shown = refusal instanceof OAuthError && texts !== 'step' ? detail : null;
  return sendPage(
    request,
    reply,
    'error',
    {
      title: `error.${texts}.title`,
      message: `error.${texts}.message`,
      detail: shown,
      code,
      requestId: request.id,
      retryAfterSeconds,
      ...waysOn(request, status, code),
    },
    { status, client: request.looks ?? null, uiLocales: localesAskedFor(request) },
  );
}

/** Back to the own account where it is of that, whatever was refused. Back to the sign-in, where the same may go well later; too many wrong passwords are forgotten with a new one, wrong codes are not. */
function waysOn(request: FastifyRequest, status: number, code: string) {
  const { way, url, accountUrl } = request;
  if (accountUrl) return { accountUrl };
  if (![429, 500, 503].includes(status)) return {};
  if (!way) return status === 429 ? wayOfForm(request) : {};
  const mayForget = status === 429 && code !== locked && !url.startsWith('/oauth/password/');
  const { signInUrl, forgotUrl } = way();
  return { signInUrl, forgotUrl: mayForget ? forgotUrl : null };
}

/** The same where a throttle was faster than whoever looks at the request: what the form carries of it is looked at where it leads. */
function wayOfForm({ query, body }: FastifyRequest) {
  const { values } = readParameters(query, body);
  if (!values.has('client_id') || !values.has('redirect_uri')) return {};
  const asked = [...values].filter(([name]) => isAuthorizeParameter(name) && name !== 'method');
  return { signInUrl: `/oauth/authorize?${new URLSearchParams(asked)}` };
}

/** Whatever is wrong with a request, its reader's language counts. */
const localesAskedFor = ({ query, body }: FastifyRequest) => readParameters(query, body).values.get('ui_locales');

/** What the pages of the own account refuse that no form of theirs asks for. */
const ofAccount = ['mfa.already_enrolled', 'mfa.factor_not_allowed', 'mfa.not_enrolled', 'mfa.too_many_factors'];

const locked = 'mfa.challenge_locked';

/**
 * Whether somebody has opened the address of a page that answered a form: out of the address bar, a bookmark, or because the browser had
 * dropped it. No application has sent them, and there is a page at the address, only not by itself.
 */
const isStepAlone = ({ method, url }: FastifyRequest, status: number): boolean =>
  method === 'GET' &&
  (status === 405 || (status === 400 && /^\/oauth\/authorize(?:\?(?:ui_locales=[^&]*)?)?$/.test(url)));

function textsOf(status: number, code: string) {
  if (code === locked) return 'too_many_codes';
  if (code === 'origin.foreign') return 'origin';
  if (code === 'auth.reauthentication_required') return 'protected';
  if (ofAccount.includes(code)) return 'account';
  if (status === 403) return 'refused';
  if (status === 404 || status === 405) return 'not_found';
  if (status === 429) return 'too_many';
  if (status === 503) return 'unavailable';
  return status >= 500 ? 'internal' : 'request';
}
