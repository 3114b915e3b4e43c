import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/errors.js';
import { OAuthError } from '../../domain/oidc/oauth-error.js';
import { isAuthorizeParameter } from '../../domain/oidc/requests/authorize-request.js';
import { readParameters } from '../../domain/oidc/requests/parameters.js';
import { httpStatusOf } from '../error-statuses.js';
import { reportedRefusalOf } from '../errors.js';
import { oauthStatusOf } from '../oauth/oauth-error.js';
import { setRetryHeaders } from '../surfaces/limit-headers.js';
import { type BrandedClient, sendPage } from './send-page.js';
import { wantsJson } from './wants-json.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The client whose branding the request's pages have, once it is known: errors after that have it, too. */
    brandedClient?: BrandedClient | null;
    /** Where the sign-in of a request begins again, once the request is known to be valid; only refusals call it. */
    restartUrls?: (() => { signInUrl: string; forgotUrl: string | null }) | null;
    /** The address of the request's own account, once somebody is signed in there. */
    accountUrl?: string | null;
  }
}

/** Answers every error with a page: never with a redirect, since nothing malformed is trusted with one. */
export function handlePageErrors(app: FastifyInstance): void {
  app.decorateRequest('brandedClient', null);
  app.decorateRequest('restartUrls', null);
  app.decorateRequest('accountUrl', null);
  app.setErrorHandler((error, request, reply) => {
    const refusal = error instanceof OAuthError ? error : reportedRefusalOf(error, request);
    return sendErrorPage(request, reply, refusal);
  });
}

/** Answers a refusal with a page; null stands for a fault of ours. A script gets the same in JSON. */
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
  if (refusal instanceof DomainError) setRetryHeaders(reply, refusal);
  if (wantsJson(request)) {
    return reply.code(status).send({ error: code, error_description: detail });
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
      ...linksFor(request, status, code),
    },
    { status, client: request.brandedClient ?? null, uiLocales: localesAskedFor(request) },
  );
}

/**
 * Where the person can continue: at their own account, whatever was refused there; or at the sign-in, if the same may
 * succeed later. A new password resets the count of wrong passwords, but nothing resets that of wrong codes.
 */
function linksFor(request: FastifyRequest, status: number, code: string) {
  const { restartUrls, url, accountUrl } = request;
  if (accountUrl) return { accountUrl };
  if (![429, 500, 503].includes(status)) return {};
  if (!restartUrls) return status === 429 ? restartUrlOfForm(request) : {};
  const mayForget = status === 429 && code !== locked && !url.startsWith('/oauth/password/');
  const { signInUrl, forgotUrl } = restartUrls();
  return { signInUrl, forgotUrl: mayForget ? forgotUrl : null };
}

/** Where a sign-in begins again if a throttle refused the request before it was checked: that checks its parameters. */
function restartUrlOfForm({ query, body }: FastifyRequest) {
  const { values } = readParameters(query, body);
  if (!values.has('client_id') || !values.has('redirect_uri')) return {};
  const asked = [...values].filter(([name]) => isAuthorizeParameter(name) && name !== 'method');
  return { signInUrl: `/oauth/authorize?${new URLSearchParams(asked)}` };
}

/** Whatever is wrong with a request, its reader's language applies. */
const localesAskedFor = ({ query, body }: FastifyRequest) => readParameters(query, body).values.get('ui_locales');

/** Refusals of the account pages that none of their own forms cause. */
const ofAccount = ['mfa.already_enrolled', 'mfa.factor_not_allowed', 'mfa.not_enrolled', 'mfa.too_many_factors'];

const locked = 'mfa.challenge_locked';

/**
 * Whether somebody has opened the address of a page that answered a form: from the address bar, from a bookmark, or
 * because the browser had dropped the page. No application has sent them, and the address has a page, but not on its
 * own.
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
