import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Client } from '../../domain/oidc/clients/clients.js';
import type { Locale } from '../../platform/mail/texts.js';
import { chooseLocale } from './locale.js';
import type { Pages } from './pages.js';
import { type Branding, type PageScript, renderPage } from './render.js';
import { pageHeaders } from './security-headers.js';
import { isIsolated, scriptsOf } from './traits.js';

/** How an Environment presents itself, and a client of it. */
export interface BrandedClient extends Pick<Client, 'logoUrl'> {
  settings: Pick<Client['settings'], 'branding' | 'defaultLocale'>;
}

export interface PageOptions {
  status?: number;
  client?: BrandedClient | null;
  uiLocales?: string | null;
  /** Where the answer to the page's form may redirect, besides the service itself. */
  formActions?: readonly string[];
  /** An address whose origin may show it in a frame. */
  framedBy?: string | null;
  scripts?: readonly PageScript[];
  /** Whether it shows the captcha's widget, the only thing that comes from somebody else. */
  captcha?: boolean;
  /** Whether its form is posted to somebody else, who may check its origin. */
  namesOrigin?: boolean;
}

/**
 * Whether the browser may keep the page, to go back to it: an answer to a form cannot be fetched again, and without a
 * copy the browser shows an error of its own, and offers to send the form with its password again. Not for a page with
 * a secret that stays valid, or with the account of somebody who may have signed out since (docs/decisions/0006).
 */
const isKept = ({ method }: FastifyRequest, name: keyof Pages): boolean =>
  method === 'POST' && name !== 'mfa-enroll-totp' && name !== 'form-post' && !name.startsWith('account');

/** Sends a hosted page in the Environment's looks and the reader's language. */
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
  const locale = readerLocaleOf(request, { client, uiLocales });
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
  client?: Pick<BrandedClient, 'settings'> | null;
  uiLocales?: string | null;
}

/** The language of the person who sent a request, for pages and mails. */
export const readerLocaleOf = ({ headers }: FastifyRequest, { client, uiLocales }: Reader): Locale =>
  chooseLocale({
    uiLocales,
    acceptLanguage: headers['accept-language'],
    default: client?.settings.defaultLocale,
  });

const brandingOf = ({ settings: { branding } }: BrandedClient): Branding => ({
  ...branding,
  name: branding.name ?? '',
});
