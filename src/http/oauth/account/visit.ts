import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../../domain/errors.js';
import { type AccountPage, accountUrl } from '../../../domain/oidc/account-request.js';
import { clientIdOf } from '../../../domain/oidc/authorize-request.js';
import type { Client } from '../../../domain/oidc/clients.js';
import { OAuthError } from '../../../domain/oidc/oauth-error.js';
import { onlyOnce, type Parameters, readParameters } from '../../../domain/oidc/parameters.js';
import { aal2 } from '../../../domain/sessions/first-factor.js';
import type { OwnProofOf, WantedFor } from '../../../domain/sessions/own-proof.js';
import type { HostedSession } from '../../../domain/sessions/sessions.js';
import type { TextKey } from '../../../platform/mail/texts.js';
import { type EnvironmentScope, environmentScopeOf } from '../../../platform/scope.js';
import { assertOwnOrigin } from '../../origin.js';
import { redirect } from '../../pages/redirect.js';
import { wantsJson } from '../../pages/wants-json.js';
import { sendNotKept, withoutMark } from '../not-kept-page.js';
import { onToSignIn } from '../on-to-sign-in.js';
import type { HostedOptions } from '../options.js';

/** A signed-in person on the pages of their own account. */
export interface AccountVisit {
  request: FastifyRequest;
  reply: FastifyReply;
  client: Client;
  scope: EnvironmentScope;
  session: HostedSession;
  /** What was sent, each name once. */
  form: Parameters;
  uiLocales: string | null;
  /** What every link and form of the pages carries. */
  params: Record<string, string>;
}

/** What a person is told after an action, by the name in the page's address. */
export type Done = Extract<TextKey, `account.done.${string}`> extends `account.done.${infer Name}` ? Name : never;

/** Whose own factors are changed, as the change itself looks at it once more. */
export function personOf({ scope, session }: Pick<AccountVisit, 'scope' | 'session'>): OwnProofOf {
  const { id: sessionId, identityId, authenticatedAt, authTime } = session;
  return { ...scope, identityId, sessionId, authenticatedAt, authTime };
}

/** What a change says where its visit was looked at, and was over before it was made. */
const whatEnds: string[] = ['auth.invalid_credentials', 'auth.reauthentication_required'];

const whatGoes: string[] = [
  'application.not_found',
  'mfa.factor_not_found',
  'mfa.trusted_device_not_found',
  'session.not_found',
];

/** What somebody is about to do that has to be proved for. */
type Change = 'password' | WantedFor['change'];

type Deps = Pick<HostedOptions, 'provider' | 'logins' | 'hosted'>;

/** Who comes to the account pages, and how strongly they have proved who they are. */
export function createAccountVisits({ provider, logins, hosted }: Deps) {
  const { baseUrl, clients, sessions } = provider;

  /** Away to sign in, and back to `page`. */
  const toSignIn = (
    visit: Pick<AccountVisit, 'request' | 'reply' | 'client' | 'uiLocales' | 'params'>,
    page: AccountPage,
    more: Record<string, string> = {},
  ) => onToSignIn(visit, '/oauth/authorize', { ...visit.params, destination: page, ...more });

  async function enter(request: FastifyRequest, reply: FastifyReply, page: AccountPage): Promise<AccountVisit | null> {
    const read = readParameters(request.query, request.body);
    const client = await clients.find(clientIdOf(read));
    if (!client) throw new OAuthError('invalid_request', 'client_id is unknown');
    request.looks = client;
    const form = onlyOnce(read, [...read.values.keys()]);
    const uiLocales = form.get('ui_locales')?.slice(0, 100) ?? null;
    const params = { client_id: client.clientId, ...(uiLocales !== null && { ui_locales: uiLocales }) };
    const { environmentId, settings } = client;
    const browser = hosted.cookies.browser.read(request);
    const session = await sessions.find(browser, environmentId, settings.sessionIdleTtlSeconds);
    if (!session) {
      if (!sendNotKept(hosted.cookies.browser, { request, reply, read, client })) {
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
   * Whether the person has proved recently and strongly enough who they are for what could lock the owner out: ten minutes
   * ago at most, and with a second factor where they have one. Otherwise they are sent to do so, and back to `page`.
   * A provider for tests proves nothing of who is in production: whoever comes by it is told, at the overview.
   * @throws DomainError auth.reauthentication_required where no sign-in here can be strong enough; identity.in_production
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

  /** Whether they change how they sign in from production alone; with their own password they can change that here as well. */
  async function isBound(
    { session, scope }: Pick<AccountVisit, 'session' | 'scope'>,
    change: Change,
  ): Promise<boolean> {
    if (session.ssoConnectionId === null || !(await logins.isTestOfProduction(scope, session.identityId))) return false;
    return change !== 'password' || !(await logins.ownProfile(scope, session.identityId)).hasPassword;
  }

  /** Back to the overview, which says what was done. */
  const done = ({ request, reply, params }: AccountVisit, name: Done): FastifyReply =>
    redirect(request, reply, accountUrl(baseUrl, 'account', { ...params, done: name }));

  return {
    /** Somebody opens a page. Null when they were sent to sign in first. */
    open: enter,

    /**
     * Somebody sends a form of `page`. Null when it was answered: nobody is signed in, or somebody else than the page was shown to.
     * @throws DomainError origin.foreign
     */
    async act(request: FastifyRequest, reply: FastifyReply, page: AccountPage): Promise<AccountVisit | null> {
      assertOwnOrigin(request, baseUrl);
      const visit = await enter(request, reply, page);
      if (!visit || visit.form.get('session') === visit.session.id) return visit;
      if (wantsJson(request)) {
        const error_description = 'session must be the id of the session that is signed in';
        reply.code(409).header('cache-control', 'no-store').send({ error: 'session_changed', error_description });
      } else {
        redirect(request, reply, accountUrl(baseUrl, 'account', { ...visit.params, done: 'session_changed' }));
      }
      return null;
    },

    isProven,
    isBound,

    /**
     * Whether they may end other sessions, and what applications were given: anybody who is signed in, or where the Environment
     * says so whoever has proved it as above, by the factors that it takes.
     */
    mayEnd: async (visit: AccountVisit): Promise<boolean> =>
      !visit.client.settings.sessionEndRequireRecentSignIn || isProven(visit, 'account', 'ending'),

    /** To the page that shows new recovery codes once: sealed in its address, for this session alone. */
    toCodes: ({ request, reply, params, session }: AccountVisit, codes: string[]): FastifyReply =>
      redirect(
        request,
        reply,
        accountUrl(baseUrl, 'account/recovery-codes', {
          ...params,
          // What it goes on with is this session, and no other one.
          codes_token: logins.sealedCodes.seal({ codes, enrollmentToken: session.id }, session.id),
        }),
      ),

    done,

    /**
     * To `page` again where the session has ended while its form was looked at, or a factor was added that is to be shown first: the page
     * asks for whatever is missing now.
     * @throws the error itself where it is another one
     */
    anew(visit: AccountVisit, page: AccountPage, error: unknown): FastifyReply {
      const isOver = error instanceof DomainError && whatEnds.includes(error.code);
      if (!isOver) throw error;
      return onToSignIn(visit, accountUrl(baseUrl, page), visit.params);
    },

    /**
     * To the overview where something is gone that a page still showed: it was left open, or sent twice.
     * @throws the error itself where it is another one, and to those who asked for JSON
     */
    gone(visit: AccountVisit, error: unknown): FastifyReply {
      const isGone = error instanceof DomainError && whatGoes.includes(error.code);
      if (!isGone || wantsJson(visit.request)) throw error;
      return done(visit, 'gone');
    },
  };
}

export type AccountVisits = ReturnType<typeof createAccountVisits>;
