import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { DomainError } from '../../domain/errors.js';
import { SsoRefused } from '../../domain/sso-protocols/assertion.js';
import { freshAuthentication, noDemands } from '../../domain/sso-sign-in/recency.js';
import { browserOf } from '../browsers/browser-of.js';
import { secretCookie } from '../browsers/secret-cookie.js';
import { sendError } from '../errors.js';
import { redirect } from '../pages/redirect.js';
import { begunHere } from '../sso/begun-here.js';
import { sendSsoRefused } from '../sso/failed-page.js';
import { errors } from '../surfaces/operation.js';
import { Id, OneOf, TypedEmail } from '../surfaces/schemas.js';
import { Html } from './answers.js';
import type { AdminAuthOptions } from './options.js';
import { sameOrigin } from './origin.js';
import { sendPageOrError } from './page-errors.js';
import { createAdminLanding } from './sso-landing.js';

const perIp = { name: 'admin-sso-start', points: 30, windowSeconds: 15 * 60 };
const tags = ['Admin authentication'];
const Onward = Type.Object({ redirect_to: Type.String() });
const onward = { description: 'To the identity provider, or onward from it', type: 'null' } as const;

const startSchema = {
  operationId: 'startAdminSso',
  summary: 'Sign in through the identity provider of an email address',
  description:
    'Redirects the browser to the identity provider of the account that has verified the domain of the email address and ' +
    'has an active connection for its administrators, whether or not the email address is known. If there is none: 404 ' +
    '`admin_sso.not_available`. On return, the user is signed in as by `login`, with both cookies, and led to the ' +
    "administrators' application; with several applications and no `application_id`, a page asks which one. With " +
    '`prompt=login`, the provider authenticates the user again, whatever session it has, and a user with a second factor ' +
    'is asked for it even if the provider reports `mfa`: this is the sign-in within the last ten minutes that ' +
    '`auth.reauthentication_required` asks for. A response that does not confirm it is refused ' +
    '(`sso.reauthentication_missing`, `sso.auth_time_missing`). If an administrator is signed in in the browser and no page of the same ' +
    'site leads here, a page asks before that sign-in is replaced. With `Accept: application/json`, the responses are JSON.',
  tags,
  querystring: Type.Object({
    email: TypedEmail,
    application_id: Type.Optional(Id),
    prompt: Type.Optional(OneOf(['login'])),
  }),
  response: {
    200: {
      description: 'Where to go next, for scripts',
      content: { 'application/json': { schema: Onward }, ...Html.content },
    },
    303: onward,
    ...errors('validation.failed', 'admin_sso.not_available', 'rate_limit.exceeded', 'service.unavailable'),
  },
};

const callbackSchema = {
  operationId: 'adminSsoCallback',
  summary: 'Receive administrators from an OpenID provider',
  description: 'The same as `/sso/oidc/{connection_id}/callback`, to which it redirects.',
  tags,
  params: Type.Object({ connection_id: Id }),
  response: {
    200: {
      description: 'Where to go next, for scripts',
      content: { 'application/json': { schema: Onward }, ...Html.content },
    },
    303: onward,
    ...errors('validation.failed'),
  },
};

const selectSchema = {
  operationId: 'selectApplicationAfterSso',
  summary: 'Complete a sign-in on the page that asks for an application',
  description: 'The form of that page. Programs use `select-application`.',
  tags,
  consumes: ['application/x-www-form-urlencoded'],
  body: Type.Object({ selection_token: Type.String({ maxLength: 4096 }), application_id: Id }),
  response: {
    200: { description: 'A page that confirms it', ...Html },
    303: onward,
    ...errors('validation.failed', 'auth.invalid_credentials', 'origin.foreign', 'application.not_found'),
  },
};

/** Whether the caller is a person, who gets pages; a request without a preference is a program's, as with every API. */
const isBrowser = ({ headers: { accept = '' } }: FastifyRequest): boolean => /\btext\/html\b/i.test(accept);

/**
 * Whether a page of ours, or of the administrators' application, leads here: they are on one site. A link elsewhere, or
 * in a mail, can be anybody's.
 */
const isOurPages = ({ headers: { 'sec-fetch-site': site } }: FastifyRequest): boolean =>
  site === 'same-origin' || site === 'same-site';

/** Sign-in by the Account's identity provider. The provider's answer goes to `/sso/complete`, as for end users. */
export const sso: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, options) => {
  const { users, limits, baseUrl, now, sso: providers } = options;
  const cookie = secretCookie(baseUrl, 'sso');
  const landing = createAdminLanding(options);
  app.setErrorHandler((error, request, reply) =>
    (isBrowser(request) ? sendPageOrError({ ...options, isMailed: false }) : sendError)(error, request, reply),
  );

  app.get(
    '/sso/start',
    {
      onRequest: limits.exact(perIp),
      schema: startSchema,
    },
    async (request, reply) => {
      const { email, application_id: applicationId, prompt } = request.query;
      const nobody = () => {
        if (isBrowser(request)) return sendSsoRefused(request, reply, 'no_provider');
        throw new DomainError('admin_sso.not_available');
      };
      const connection = await providers.administrators.connectionFor(email);
      if (!connection) return nobody();
      const parameters = { email, ...(applicationId && { application_id: applicationId }), ...(prompt && { prompt }) };
      const { anew: forceAuthn, maxAge } = prompt ? freshAuthentication : noDemands;
      try {
        const started = await providers.signIn.start({
          connection,
          parameters: isOurPages(request) ? begunHere(parameters) : parameters,
          purpose: 'admin',
          loginHint: email,
          forceAuthn,
          maxAge,
          browser: cookie.read(request),
        });
        cookie.set(reply, started.browser, started.expiresAt, now());
        return redirect(request, reply, started.url);
      } catch (error) {
        if (!(error instanceof SsoRefused)) throw error;
        if (error.code === 'connection_disabled') return nobody(); // it was deleted meanwhile
        if (!isBrowser(request)) throw new DomainError('service.unavailable', { retryAfter: 30, cause: error });
        return sendSsoRefused(request, reply, error.code);
      }
    },
  );

  app.get(
    '/sso/callback/:connection_id',
    {
      schema: callbackSchema,
    },
    async (request, reply) => {
      const at = request.url.indexOf('?');
      const query = at === -1 ? '' : request.url.slice(at);
      return redirect(request, reply, `/sso/oidc/${request.params.connection_id}/callback${query}`);
    },
  );

  app.post(
    '/sso/select-application',
    {
      config: { events: ['auth.admin_signed_in'] },
      onRequest: sameOrigin(options),
      schema: selectSchema,
    },
    async (request, reply) => {
      const { selection_token: selectionToken, application_id: applicationId } = request.body;
      const signedIn = await users.signIn.selectApplication({ selectionToken, applicationId, ...browserOf(request) });
      return landing.signedIn(request, reply, signedIn);
    },
  );
};
