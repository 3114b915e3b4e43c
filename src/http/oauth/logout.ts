import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { siteOf, withParameters } from '../../domain/oidc/clients/redirect-uris.js';
import { type LogoutRequest, parseLogoutRequest } from '../../domain/oidc/requests/logout-request.js';
import { onlyOnce, type ReadParameters, readParameters } from '../../domain/oidc/requests/parameters.js';
import type { NamedSession } from '../../domain/sessions/sessions.js';
import type { Onward } from '../../domain/sso-sign-in/provider-sign-out.js';
import { inShareOf } from '../../platform/context.js';
import { assertOwnOrigin } from '../browsers/origin.js';
import { leavingUrl } from '../browsers/provider-sign-out.js';
import { secretCookie } from '../browsers/secret-cookie.js';
import { redirect } from '../pages/redirect.js';
import { sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';
import type { OAuthOptions } from './options.js';

/**
 * RP-Initiated Logout 1.0: ends the browser's session in the client's Environment and the session of the client's ID
 * token, with the grants that were made in them.
 */
export const logout: FastifyPluginAsyncTypebox<OAuthOptions> = async (app, { provider, sso }) => {
  const { baseUrl, sessions } = provider;
  const cookie = secretCookie(baseUrl, 'hosted_session');

  app.get('/oauth/logout', async (request, reply) => {
    if (request.method === 'HEAD') return reply.send(); // a HEAD must not end anything
    const logoutRequest = await parsed(request, readParameters(request.query));
    const browser = cookie.read(request);
    const current = await currentSession(logoutRequest, browser);
    // §2: without a hint about this very session, only the person can say that they meant it.
    if (current.is === 'other') return askFirst(request, reply, logoutRequest, current.email);
    return end(request, reply, logoutRequest, current.is === 'none' ? null : browser);
  });

  app.post('/oauth/logout', async (request, reply) => {
    const read = readParameters(request.query, request.body);
    const confirm = onlyOnce(read, ['confirm']).get('confirm');
    if (confirm !== undefined) assertOwnOrigin(request, baseUrl);
    const logoutRequest = await parsed(request, read);
    // A POST from another site comes without our cookie; a GET sends it.
    if (confirm === undefined) return redirect(request, reply, '/oauth/logout', logoutRequest.parameters);
    const browser = cookie.read(request);
    if (confirm !== 'yes') return stay(request, reply, logoutRequest);
    return end(request, reply, logoutRequest, browser);
  });

  /** Parses the request. If that fails, the error page has the looks of the client that the request names. */
  async function parsed(request: FastifyRequest, read: ReadParameters): Promise<LogoutRequest> {
    const logoutRequest = await parseLogoutRequest(read, provider).catch(async (error: unknown) => {
      request.brandedClient = await provider.clients.find(read.values.get('client_id') ?? '');
      throw error;
    });
    if (logoutRequest.client) inShareOf(logoutRequest.client.accountId);
    return logoutRequest;
  }

  async function currentSession({ client, hint }: LogoutRequest, browser: string | null) {
    if (browser === null) return { is: 'none' } as const;
    if (!client) return { is: 'other', email: null } as const; // in whichever Environment
    // However long it has been unused: applications may still hold tokens of it, which have to end.
    const session = await sessions.find(browser, client.environmentId, null);
    if (!session) return { is: 'none' } as const;
    const isHinted = hint?.isProven && (hint.sessionId === session.id || hint.subject === session.identityId);
    return { is: isHinted ? 'hinted' : 'other', email: session.email } as const;
  }

  /** Ends the session of the cookie, where that applies, and the one that the hint proves to be meant. */
  async function end(
    request: FastifyRequest,
    reply: FastifyReply,
    logoutRequest: LogoutRequest,
    browser: string | null,
  ) {
    const named = namedSession(logoutRequest, cookie.read(request));
    if (browser === null && named === null) return goOn(request, reply, logoutRequest);
    const ended = await sessions.end(browser, logoutRequest.client?.environmentId ?? null, named);
    if (browser !== null && !ended.othersLeft) cookie.clear(reply);
    const token = await sso.leaving.begin(ended.ssoSessionIds, onwardOf(logoutRequest));
    return token === null ? goOn(request, reply, logoutRequest) : redirect(request, reply, leavingUrl(baseUrl, token));
  }

  function goOn(request: FastifyRequest, reply: FastifyReply, logoutRequest: LogoutRequest) {
    const { client, redirectUri, state } = logoutRequest;
    if (redirectUri !== null) return redirect(request, reply, redirectUri, { state });
    if (wantsJson(request)) return reply.send({ redirect_to: null });
    const values = { clientUrl: homeOf(logoutRequest), isUnconfirmed: false, isOver: false };
    return sendPage(request, reply, 'signed-out', values, pageOptions(client, logoutRequest));
  }

  /**
   * Returns to the application's site, still signed in; without a site, a page says that they are. Not to the URI for
   * after a sign-out (RP-Initiated Logout 1.0 §2): that page would say that they are signed out.
   */
  function stay(request: FastifyRequest, reply: FastifyReply, logoutRequest: LogoutRequest) {
    const home = homeOf(logoutRequest);
    if (home !== null) return redirect(request, reply, home);
    if (wantsJson(request)) return reply.send({ redirect_to: null });
    return sendPage(request, reply, 'still-signed-in', {}, pageOptions(logoutRequest.client, logoutRequest));
  }

  function askFirst(request: FastifyRequest, reply: FastifyReply, logoutRequest: LogoutRequest, email: string | null) {
    const { client, parameters, redirectUri } = logoutRequest;
    if (wantsJson(request)) {
      const answer = { error: 'confirmation_required', error_description: 'post the same parameters with confirm=yes' };
      return reply.code(409).send(answer);
    }
    const goesTo = [redirectUri, homeOf(logoutRequest)].filter((uri) => uri !== null);
    return sendPage(
      request,
      reply,
      'logout',
      { action: '/oauth/logout', params: parameters, email, client: client && { name: client.name } },
      { ...pageOptions(client, logoutRequest), formActions: goesTo },
    );
  }

  const pageOptions = (client: LogoutRequest['client'], { parameters }: LogoutRequest) => ({
    client,
    uiLocales: parameters.ui_locales,
  });
};

/**
 * The session of the client's ID token. The browser may have another one by now: this session may be over while the
 * client still holds what it was granted in it. Whoever holds the token may end this session, and no other, without the
 * cookie; but only the browser that the session was in learns what its provider says about the person.
 */
const namedSession = ({ hint }: LogoutRequest, askedIn: string | null): NamedSession | null =>
  hint?.isProven && hint.sessionId !== null ? { id: hint.sessionId, identityId: hint.subject, askedIn } : null;

/** Where the person continues after the identity provider, or without it. */
const onwardOf = (logoutRequest: LogoutRequest): Onward => ({
  redirectUri: logoutRequest.redirectUri && withParameters(logoutRequest.redirectUri, { state: logoutRequest.state }),
  homeUrl: homeOf(logoutRequest),
  clientId: logoutRequest.client?.clientId ?? null,
  uiLocales: logoutRequest.parameters.ui_locales ?? null,
});

const homeOf = ({ client }: LogoutRequest): string | null => siteOf(client?.redirectUris ?? []);
