import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../../domain/errors.js';
import type { Client } from '../../../domain/oidc/clients/clients.js';
import { withParameters } from '../../../domain/oidc/clients/redirect-uris.js';
import { OAuthError } from '../../../domain/oidc/oauth-error.js';
import { type AccountPage, accountUrl } from '../../../domain/oidc/requests/account-request.js';
import { clientIdOf } from '../../../domain/oidc/requests/authorize-request.js';
import { onlyOnce, type Parameters, readParameters } from '../../../domain/oidc/requests/parameters.js';
import { aal2 } from '../../../domain/sessions/first-factor.js';
import type { OwnProofOf, WantedFor } from '../../../domain/sessions/own-proof.js';
import type { HostedSession } from '../../../domain/sessions/sessions.js';
import { inShareOf } from '../../../platform/context.js';
import type { TextKey } from '../../../platform/mail/texts.js';
import { type EnvironmentScope, environmentScopeOf } from '../../../platform/scope.js';
import { assertOwnOrigin } from '../../browsers/origin.js';
import { redirect } from '../../pages/redirect.js';
import { wantsJson } from '../../pages/wants-json.js';
import { sendCookieRefused, withoutMark } from '../after-sign-in.js';
import { onToSignIn } from '../on-to-sign-in.js';
import type { HostedOptions } from '../options.js';

/** A signed-in person on the pages of their own account. */
export interface AccountVisit {
  request: FastifyRequest;
  reply: FastifyReply;
  client: Client;
  scope: EnvironmentScope;
  session: HostedSession;
  /** The parameters that were sent, each at most once. */
  form: Parameters;
  uiLocales: string | null;
  /** The parameters of every link and form on the pages. */
  params: Record<string, string>;
}

/** The messages after an action, by their name in the page's address. */
export type Done = Extract<TextKey, `account.done.${string}`> extends `account.done.${infer Name}` ? Name : never;

/** The person whose factors are changed, and their session, which the change checks again. */
export function personOf({ scope, session }: Pick<AccountVisit, 'scope' | 'session'>): OwnProofOf {
  const { id: sessionId, identityId, authenticatedAt, authTime } = session;
  return { ...scope, identityId, sessionId, authenticatedAt, authTime };
}

/** The address of a new sign-in with a second factor, which leads back to the overview. */
export const showKeyUrl = ({ session, params }: Pick<AccountVisit, 'session' | 'params'>): string =>
  withParameters('/oauth/authorize', {
    ...params,
    destination: 'account',
    login_hint: session.email,
    max_age: '0',
    acr_values: aal2,
  });

/** Errors of a change whose visit was valid when it was checked, but not when the change was made. */
const sessionOverCodes: string[] = ['auth.invalid_credentials', 'auth.reauthentication_required'];

/** Errors of a change of something that no longer exists. */
const goneCodes: string[] = [
  'application.not_found',
  'mfa.factor_not_found',
  'mfa.trusted_device_not_found',
  'session.not_found',
];

/** A change that requires a proof of who the person is. */
type Change = 'password' | WantedFor['change'];

type Deps = Pick<HostedOptions, 'provider' | 'logins' | 'hosted'>;

/** Determines who visits the account pages, and how strongly they have proved who they are. */
export function createAccountVisits({ provider, logins, hosted }: Deps) {
  const { baseUrl, clients, sessions } = provider;

  /** Sends the person to sign in, and then back to `page`. */
  const toSignIn = (
    visit: Pick<AccountVisit, 'request' | 'reply' | 'client' | 'uiLocales' | 'params'>,
    page: AccountPage,
    more: Record<string, string> = {},
  ) => onToSignIn(visit, '/oauth/authorize', { ...visit.params, destination: page, ...more });

  async function enter(request: FastifyRequest, reply: FastifyReply, page: AccountPage): Promise<AccountVisit | null> {
    const read = readParameters(request.query, request.body);
    const client = await clients.find(clientIdOf(read));
    if (!client) throw new OAuthError('invalid_request', 'client_id is unknown');
    request.brandedClient = client;
    inShareOf(client.accountId);
    const form = onlyOnce(read, [...read.values.keys()]);
    const uiLocales = form.get('ui_locales')?.slice(0, 100) ?? null;
    const params = { client_id: client.clientId, ...(uiLocales !== null && { ui_locales: uiLocales }) };
    const { environmentId, settings } = client;
    const browser = hosted.cookies.browser.read(request);
    const session = await sessions.find(browser, environmentId, settings.sessionIdleTtlSeconds);
    if (!session) {
      if (!sendCookieRefused(hosted.cookies.browser, { request, reply, read, client })) {
        toSignIn({ request, reply, client, uiLocales, params }, page);
      }
      return null;
    }
    if (withoutMark({ request, reply, read })) return null;
    const scope = environmentScopeOf(client);
    request.accountUrl = accountUrl(baseUrl, 'account', params);
    return { request, reply, client, scope, session, form, uiLocales, params };
  }

  /**
   * Whether the person has proved who they are recently and strongly enough for a change that could lock the owner out:
   * at most ten minutes ago, and with a second factor if they have one. Otherwise they are sent to do so, and then back
   * to `page`. A test Environment's provider proves nothing about a person in production: the overview tells them so.
   * @throws DomainError auth.reauthentication_required if no sign-in here can be strong enough; identity.in_production
   */
  async function isProven(visit: AccountVisit, page: AccountPage, change: Change = 'factors'): Promise<boolean> {
    if (change !== 'ending' && (await isBound(visit, change))) {
      if (wantsJson(visit.request)) throw new DomainError('identity.in_production');
      done(visit, 'in_production');
      return false;
    }
    const { session, client, scope } = visit;
    const { mfaPolicy, mfaAllowedFactors } = client.settings;
    const wanted = change === 'password' ? null : { ...session, change, mfaPolicy };
    const proven = await logins.ownProof(scope, session, mfaAllowedFactors, wanted);
    if (proven.isEnough) return true;
    if (!proven.isReachable) throw new DomainError('auth.reauthentication_required');
    toSignIn(visit, page, {
      login_hint: session.email,
      max_age: String(proven.maxAgeSeconds),
      ...(proven.needsAal2 && { acr_values: aal2 }),
    });
    return false;
  }

  /** Whether only production may change how the person signs in; their own password can be changed here, too. */
  async function isBound(
    { session, scope }: Pick<AccountVisit, 'session' | 'scope'>,
    change: Change,
  ): Promise<boolean> {
    if (session.ssoConnectionId === null || !(await logins.isTestOfProduction(scope, session.identityId))) return false;
    return change !== 'password' || !(await logins.ownProfile(scope, session.identityId)).hasPassword;
  }

  /** Redirects to the overview, which says what was done. */
  const done = ({ request, reply, params }: AccountVisit, name: Done): FastifyReply =>
    redirect(request, reply, accountUrl(baseUrl, 'account', { ...params, done: name }));

  return {
    /** Opens a page. Null if the person was sent to sign in first. */
    open: enter,

    /**
     * Accepts a form of `page`. Null if the request was answered: nobody, or somebody else, is signed in now.
     * @throws DomainError origin.foreign
     */
    async act(request: FastifyRequest, reply: FastifyReply, page: AccountPage): Promise<AccountVisit | null> {
      assertOwnOrigin(request, baseUrl);
      const visit = await enter(request, reply, page);
      if (!visit || visit.form.get('session') === visit.session.id) return visit;
      if (wantsJson(request)) {
        const error_description = 'session must be the id of the session that is signed in';
        reply.code(409).send({ error: 'session_changed', error_description });
      } else {
        redirect(request, reply, accountUrl(baseUrl, 'account', { ...visit.params, done: 'session_changed' }));
      }
      return null;
    },

    isProven,
    isBound,

    /**
     * Whether the person may end other sessions and the access of applications: everybody who is signed in may, unless
     * the Environment requires a proof as in `isProven`, by the factors that it allows.
     */
    mayEnd: async (visit: AccountVisit): Promise<boolean> =>
      !visit.client.settings.sessionEndRequireRecentSignIn || isProven(visit, 'account', 'ending'),

    /** Redirects to the page that shows new recovery codes once: sealed in its address, for this session only. */
    toCodes: ({ request, reply, params, session }: AccountVisit, codes: string[]): FastifyReply =>
      redirect(
        request,
        reply,
        accountUrl(baseUrl, 'account/recovery-codes', {
          ...params,
          // The page continues with this session, and no other one.
          codes_token: logins.sealedCodes.seal({ codes, enrollmentToken: session.id }, session.id),
        }),
      ),

    done,

    /**
     * Leads to `page` again if the session ended while its form was being handled, or a factor was added that has to be
     * proved first: the page then asks for whatever is missing.
     * @throws every other error
     */
    anew(visit: AccountVisit, page: AccountPage, error: unknown): FastifyReply {
      const isOver = error instanceof DomainError && sessionOverCodes.includes(error.code);
      if (!isOver) throw error;
      return onToSignIn(visit, accountUrl(baseUrl, page), visit.params);
    },

    /**
     * Redirects to the overview if what the page showed no longer exists: it was left open, or its form sent twice.
     * @throws every other error, and every error of a request for JSON
     */
    gone(visit: AccountVisit, error: unknown): FastifyReply {
      const isGone = error instanceof DomainError && goneCodes.includes(error.code);
      if (!isGone || wantsJson(visit.request)) throw error;
      return done(visit, 'gone');
    },
  };
}

export type AccountVisits = ReturnType<typeof createAccountVisits>;
