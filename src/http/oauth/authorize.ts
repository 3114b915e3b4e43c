import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type AuthorizeRequest, clientIdOf, parseAuthorizeRequest } from '../../domain/oidc/authorize-request.js';
import type { Client } from '../../domain/oidc/clients.js';
import type { CodeSession } from '../../domain/oidc/codes.js';
import { readHint } from '../../domain/oidc/hints.js';
import { nextStep } from '../../domain/oidc/interaction.js';
import { OAuthError } from '../../domain/oidc/oauth-error.js';
import { onlyOnce, type ReadParameters, readParameters } from '../../domain/oidc/parameters.js';
import type { TextKey } from '../../platform/mail/texts.js';
import { browserCookie } from './browser-cookie.js';
import type { OAuthOptions } from './index.js';
import { assertOwnOrigin } from './origin.js';
import { redirect, sendPage, wantsJson } from './pages.js';

/** A well-formed request on its way through the pages. */
interface Visit {
  request: FastifyRequest;
  reply: FastifyReply;
  client: Client;
  asked: AuthorizeRequest;
  hintedSubject: string | null;
}

/** What only our own forms send. */
const formFields = ['email', 'password', 'choice'] as const;

/** The authorization endpoint (RFC 6749 §3.1, OpenID Connect Core 3.1.2) and its pages. */
export const authorize: FastifyPluginAsyncTypebox<OAuthOptions> = async (app, { provider }) => {
  const { baseUrl, clients, codes, keys, passwordLogin, sessions, now } = provider;
  const cookie = browserCookie(baseUrl);

  app.get('/oauth/authorize', async (request, reply) => {
    const visit = await enter(request, reply, readParameters(request.query));
    return visit && proceed(visit, { chosen: false });
  });

  app.post('/oauth/authorize', async (request, reply) => {
    const read = readParameters(request.query, request.body);
    const form = onlyOnce(read, formFields);
    const isForm = formFields.some((name) => form.has(name));
    if (isForm) assertOwnOrigin(request, baseUrl);
    const visit = await enter(request, reply, read);
    if (!visit) return reply;
    if (form.has('email') || form.has('password')) {
      return signIn(visit, form.get('email')?.trim() ?? '', form.get('password') ?? '');
    }
    if (form.get('choice') === 'continue') return proceed(visit, { chosen: true });
    if (isForm) return showSignIn(visit, { email: '' });
    if (wantsJson(request)) return proceed(visit, { chosen: false });
    // From another site it comes without our cookie (SameSite=Lax), which a GET brings (OpenID Connect Core 3.1.2.1).
    return redirect(request, reply, '/oauth/authorize', visit.asked.parameters);
  });

  /** Checks everything that the request says; null when it was answered already. */
  async function enter(request: FastifyRequest, reply: FastifyReply, read: ReadParameters): Promise<Visit | null> {
    const client = await clients.find(clientIdOf(read));
    if (!client) throw new OAuthError('invalid_request', 'client_id is unknown');
    const parsed = parseAuthorizeRequest(read, client);
    if ('redirected' in parsed) {
      const { redirectUri, state, error, description } = parsed.redirected;
      redirect(request, reply, redirectUri, { error, error_description: description, state, iss: baseUrl });
      return null;
    }
    const { request: asked } = parsed;
    const hint = asked.idTokenHint === null ? null : await readHint(keys, asked.idTokenHint);
    return { request, reply, client, asked, hintedSubject: hint?.subject ?? null };
  }

  async function proceed(visit: Visit, { chosen }: { chosen: boolean }) {
    const { request, client, asked, hintedSubject } = visit;
    const session = await sessions.find(cookie.read(request), client.environmentId);
    switch (nextStep(asked, { session, hintedSubject, chosen, now: now() })) {
      case 'continue':
        return answer(visit, session as CodeSession);
      case 'select-account':
        return showAccounts(visit, session?.email ?? '');
      case 'login_required':
        return refuse(visit, 'login_required', 'nobody is signed in as the request asks');
      case 'sign-in':
        return showSignIn(visit, { email: asked.loginHint ?? '' });
    }
  }

  async function signIn(visit: Visit, email: string, password: string) {
    const { request, reply, client, hintedSubject } = visit;
    if (!client.settings.passwordLoginEnabled) return showSignIn(visit, { email });
    if (email === '') return showSignIn(visit, { email, error: 'sign_in.error.email_missing' });
    if (password === '') return showSignIn(visit, { email, error: 'sign_in.error.password_missing' });
    const { accountId, applicationId, environmentId } = client;
    const scope = { accountId, applicationId, environmentId };
    const result = await passwordLogin.signIn(scope, { email, password, ipAddress: request.ip });
    if (result.outcome === 'refused') return showSignIn(visit, { email, error: 'sign_in.error.credentials' });
    if (result.outcome === 'unverified') return showSignIn(visit, { email, error: 'sign_in.error.unverified' });

    const { session, browser, expiresAt } = await sessions.signIn({
      scope,
      identityId: result.identityId,
      amr: ['pwd'],
      acr: 'urn:gatehouse:aal1',
      lifeSeconds: client.settings.sessionTtlSeconds,
      browser: cookie.read(request),
      ipAddress: request.ip,
      userAgent: request.headers['user-agent'] ?? null,
    });
    cookie.set(reply, browser, expiresAt, now());
    // OpenID Connect Core 3.1.2.1: somebody else than the hint names is not what the client asked for.
    if (hintedSubject !== null && hintedSubject !== result.identityId) {
      return refuse(visit, 'login_required', 'another person signed in than id_token_hint names');
    }
    return answer(visit, session);
  }

  async function answer({ request, reply, client, asked }: Visit, session: CodeSession) {
    const code = await codes.issue(client, asked, session);
    return redirect(request, reply, asked.redirectUri, { code, state: asked.state, iss: baseUrl });
  }

  const refuse = ({ request, reply, asked }: Visit, error: 'login_required', description: string) =>
    redirect(request, reply, asked.redirectUri, {
      error,
      error_description: description,
      state: asked.state,
      iss: baseUrl,
    });

  function showSignIn(visit: Visit, { email, error = null }: { email: string; error?: TextKey | null }) {
    const { request, reply, client, asked } = visit;
    if (!client.settings.passwordLoginEnabled) throw new OAuthError('access_denied', 'password sign-in is off');
    if (wantsJson(request)) {
      const code =
        error === 'sign_in.error.credentials' || error === 'sign_in.error.unverified'
          ? 'access_denied'
          : 'login_required';
      return sendJson(reply, code, error ?? 'send email and password with the same parameters');
    }
    return sendPage(
      request,
      reply,
      'sign-in',
      {
        action: '/oauth/authorize',
        params: asked.parameters,
        email,
        error,
        signUpUrl: null,
        forgotUrl: null,
        client: { name: client.name, logoUrl: client.logoUrl },
      },
      pageOptions(visit),
    );
  }

  function showAccounts(visit: Visit, email: string) {
    const { request, reply, client, asked } = visit;
    if (wantsJson(request))
      return sendJson(reply, 'account_selection_required', 'send choice=continue or choice=other');
    return sendPage(
      request,
      reply,
      'select-account',
      {
        action: '/oauth/authorize',
        params: asked.parameters,
        identity: { email },
        client: { name: client.name, logoUrl: client.logoUrl },
      },
      pageOptions(visit),
    );
  }

  const pageOptions = ({ client, asked }: Visit) => ({
    client,
    uiLocales: asked.parameters.ui_locales,
    formActions: [asked.redirectUri],
  });

  const sendJson = (reply: FastifyReply, error: string, description: string) =>
    reply.code(401).header('cache-control', 'no-store').send({ error, error_description: description });
};
