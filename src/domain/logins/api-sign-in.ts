import type { FactorKind } from '../../../entities/environment-settings.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { environmentScopeOf } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { givingBack } from '../limits/rate-limits.js';
import type { Client } from '../oidc/clients/clients.js';
import type { ScopeName } from '../oidc/scopes.js';
import type { TokenAnswer, Tokens } from '../oidc/tokens/tokens.js';
import type { Barred } from '../organizations/barred.js';
import type { Passwords } from '../passwords/passwords.js';
import { type FirstFactor, firstFactor, type Proof } from '../sessions/first-factor.js';
import type { Sessions } from '../sessions/sessions.js';
import type { ApiGrants } from './api-grants.js';
import type { ApiSelections, ReachableApplication } from './api-selections.js';
import type { Logins } from './logins.js';
import { recordSignInRefusal } from './refusals.js';

export interface ApiPerson {
  id: string;
  email: string;
  firstName: string | null;
  lastName: string | null;
}

/**
 * The state of a sign-in by the API: complete with tokens, before its second factor, or before the choice of an
 * Application.
 */
export type ApiLogin = { person: ApiPerson } & (
  | { outcome: 'signed_in'; tokens: Omit<TokenAnswer, 'id_token'>; graceExpiresAt: Date | null }
  | { outcome: 'challenge'; token: string; factors: FactorKind[]; expiresAt: Date }
  | { outcome: 'selection'; token: string; applications: ReachableApplication[]; expiresAt: Date }
);

/** The request of a sign-in by the API. */
export interface ApiVisit {
  client: Client;
  scope: ScopeName[];
  /** Whether only `urn:gatehouse:aal2` will do. */
  requiresAal2: boolean;
  /** Whether people with a factor for aal2 have to show it. */
  prefersAal2?: boolean;
  /** Value of the `trusted_device` cookie. */
  device: string | null;
  ipAddress: string;
  userAgent: string | null;
}

export interface ApiSignInDeps {
  db: Db;
  passwords: Pick<Passwords, 'verify'>;
  logins: Pick<Logins, 'passwordLogin' | 'gate' | 'pendingSignIns'>;
  sessions: Pick<Sessions, 'signIn'>;
  tokens: Pick<Tokens, 'answerWithoutIdToken'>;
  grants: ApiGrants;
  selections: ApiSelections;
  now: Clock;
}

const personStatement = {
  name: 'person_of_api_login',
  text: `select id, email::text, first_name as "firstName", last_name as "lastName" from identities where id = $1`,
};

/**
 * Sign-ins for clients with pages of their own: the same engine as the hosted login, with tokens instead of a redirect.
 */
export function createApiSignIn({ db, passwords, logins, sessions, tokens, grants, selections, now }: ApiSignInDeps) {
  const { passwordLogin, gate, pendingSignIns } = logins;

  async function personOf(identityId: string): Promise<ApiPerson> {
    const [person] = await db.statement<ApiPerson>(personStatement, [identityId]);
    if (!person) throw new DomainError('auth.invalid_credentials'); // deleted a moment ago
    return person;
  }

  /** Starts a session without a cookie, and returns the client's tokens. */
  async function complete(visit: ApiVisit, proof: Proof, graceExpiresAt: Date | null = null): Promise<ApiLogin> {
    const { client, scope, ipAddress, userAgent } = visit;
    const { session } = await sessions.signIn({
      scope: environmentScopeOf(client),
      ...proof,
      lifeSeconds: client.settings.sessionTtlSeconds,
      browser: null,
      ipAddress,
      userAgent,
    });
    const issued = await grants.issue(client, session.id, scope, proof);
    if (!issued) throw new DomainError('auth.invalid_credentials');
    const { identityId: id, email, firstName, lastName } = issued.granted;
    return {
      outcome: 'signed_in',
      person: { id, email, firstName, lastName },
      tokens: await tokens.answerWithoutIdToken({ client, scope, ...issued }),
      graceExpiresAt,
    };
  }

  /** Refuses a sign-in that needs a factor to be enrolled first, which only the hosted pages offer. */
  async function refuseUnenrolled({ client }: ApiVisit, { identityId, method }: FirstFactor): Promise<never> {
    const reason = 'mfa.enrollment_required';
    await recordSignInRefusal(db, client, { identityId, method, reason });
    throw new DomainError(reason);
  }

  /**
   * Continues after a factor, as the hosted login does.
   * @param hasProvedFactor whether that was an enrolled one, even if it is not enough
   * @throws DomainError mfa.enrollment_required, login.consent_required, login.method_not_allowed, sso_required,
   *   auth.invalid_credentials
   */
  async function proved(visit: ApiVisit, first: FirstFactor, { hasProvedFactor = false } = {}): Promise<ApiLogin> {
    assertFirstParty(visit);
    const { client, scope, device, requiresAal2, prefersAal2 } = visit;
    const decision = await gate.decide({ client, first, device, requiresAal2, prefersAal2, hasProvedFactor });
    if (decision.step === 'done') return complete(visit, { ...first, ...decision });
    if (decision.step === 'enroll' && decision.until) return complete(visit, first, decision.until);
    if (decision.step === 'barred') throw barred(decision);
    if (decision.step === 'refused') throw new DomainError('mfa.enrollment_required');
    if (decision.step !== 'challenge') return refuseUnenrolled(visit, first);
    const begun = await pendingSignIns.begin({
      client,
      channel: 'api',
      purpose: 'challenge',
      first,
      hasProvedFactor,
      requiresAal2: requiresAal2 || decision.isForAal2 === true,
      parameters: { client_id: client.clientId, scope: scope.join(' ') },
    });
    return {
      outcome: 'challenge',
      person: await personOf(first.identityId),
      factors: decision.factors,
      ...begun,
    };
  }

  return {
    proved,

    /** Takes as long as a refused sign-in, for a client that may not sign anybody in. */
    pretend: async (password: string): Promise<void> => void (await passwords.verify(null, password)),

    /**
     * @throws DomainError auth.invalid_credentials, one for every reason; identity.email_unverified after the right
     *   password; mfa.enrollment_required, login.consent_required, login.method_not_allowed, sso_required,
     *   rate_limit.exceeded
     */
    async withPassword(visit: ApiVisit, { email, password }: { email: string; password: string }): Promise<ApiLogin> {
      assertFirstParty(visit);
      const { client, ipAddress } = visit;
      const at = now(); // the time before the password is checked: what is changed meanwhile is later
      const result = await passwordLogin.signInAnywhere(environmentScopeOf(client), { email, password, ipAddress });
      // That passwords are switched off is no secret, but neither is it worth an answer of its own.
      if (result.outcome === 'refused' || !client.settings.passwordLoginEnabled)
        throw new DomainError('auth.invalid_credentials');
      if (result.outcome === 'unverified') throw new DomainError('identity.email_unverified');
      const { identityId, passwordChangedAt, email: itsEmail } = result;
      const asOf = { passwordChangedAt, email: itsEmail };
      if (result.outcome === 'accepted')
        return proved(visit, firstFactor(identityId, 'password', ['pwd'], { now: at, ...asOf }));
      const { token, expiresAt } = selections.begin(environmentScopeOf(client), {
        identityId,
        amr: ['pwd'],
        authenticatedAt: at,
        ...asOf,
      });
      const applications = await selections.reachableFrom(environmentScopeOf(client), identityId);
      return { outcome: 'selection', person: await personOf(identityId), token, applications, expiresAt };
    },

    /**
     * Continues in the chosen Application, of which `visit` is a client; works once, and again after an outage.
     * @throws DomainError auth.invalid_credentials by the token, application.not_found; and as `proved`
     */
    async withSelection(
      visit: ApiVisit,
      { token, applicationId }: { token: string; applicationId: string },
    ): Promise<ApiLogin> {
      const { client } = visit;
      const selection = selections.read(token);
      if (!selection) throw new DomainError('auth.invalid_credentials');
      const isTheirs = client.applicationId === applicationId && (await selections.mayEnter(selection, client));
      if (!isTheirs) throw new DomainError('application.not_found');
      if (!(await selections.spend(selection))) throw new DomainError('auth.invalid_credentials');
      const { identityId, amr, authenticatedAt, passwordChangedAt, email } = selection;
      const asOf = { passwordChangedAt, email };
      const first = firstFactor(identityId, 'password', amr, { now: authenticatedAt, ...asOf });
      return givingBack(
        () => proved(visit, first),
        () => selections.giveBack(selection),
      );
    },
  };
}

export type ApiSignIn = ReturnType<typeof createApiSignIn>;

/**
 * Refuses third-party applications: the API cannot ask for consent, nor should such an application see the person's
 * password.
 */
function assertFirstParty({ client }: ApiVisit): void {
  if (client.consentRequired) throw new DomainError('login.consent_required');
}

/** The refusal with the other ways to sign in, which are those of the hosted pages: this API only has passwords. */
const barred = ({ code, methods, connections }: Barred) =>
  new DomainError(code, {
    details: [
      ...methods.map((method) => ({ field: 'method', code: method, message: 'is open, on the hosted pages' })),
      ...connections.map(({ id, name }) => ({
        field: 'connection_id',
        code: id,
        message: `is the identity provider of ${name ?? 'the environment'}, at /oauth/sso`,
      })),
    ],
  });
