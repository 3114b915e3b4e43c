import type { FastifyReply } from 'fastify';
import type { Consents } from '../../domain/consents/consents.js';
import { DomainError } from '../../domain/errors.js';
import type { Logins } from '../../domain/logins/logins.js';
import { type OpenSignIn, provedIn } from '../../domain/logins/pending-sign-ins.js';
import type { Provider } from '../../domain/oidc/provider.js';
import { couldBeAnyProgram } from '../../domain/oidc/requests/interaction.js';
import type { CodeSession } from '../../domain/oidc/tokens/codes.js';
import type { Barred } from '../../domain/organizations/barred.js';
import { aal2, type FirstFactor } from '../../domain/sessions/first-factor.js';
import type { HostedSession } from '../../domain/sessions/sessions.js';
import type { RecoveredSignIn } from '../../domain/sso-sign-in/recovery.js';
import type { Sso } from '../../domain/sso-sign-in/sso.js';
import { environmentScopeOf } from '../../platform/scope.js';
import { secretCookie } from '../browsers/secret-cookie.js';
import { redirect } from '../pages/redirect.js';
import { justSignedIn } from './after-sign-in.js';
import { createAuthorizationResponses } from './authorization-responses.js';
import { sendBarred } from './barred-page.js';
import { sendChallenge } from './mfa/challenge-page.js';
import { createCodesBrowser } from './mfa/codes-browser.js';
import { sendEnrollment } from './mfa/enrollment-page.js';
import { sendMfaRefused } from './mfa/refused-page.js';
import { onToSignIn } from './on-to-sign-in.js';
import { boundParametersOf, createVisits, onceSignedIn, type Visit } from './visit.js';

/** Whether an enrolled factor was already proved, though not one that suffices. */
interface Proved {
  hasProvedFactor?: boolean;
}

/** The sign-in for which a recovery code is offered. */
export function recoveredBy(visit: Pick<Visit, 'client' | 'authorizeRequest'>): RecoveredSignIn {
  return { scope: environmentScopeOf(visit.client), bound: boundParametersOf(visit) };
}

/**
 * Continues a proved sign-in, or calls `otherwise` if no session begins because the person, the password, or whatever
 * they signed in with, has been removed meanwhile.
 */
export const unlessGone = (goesOn: Promise<FastifyReply>, otherwise: () => FastifyReply | Promise<FastifyReply>) =>
  goesOn.catch((error: unknown) => {
    if (error instanceof DomainError && error.code === 'auth.invalid_credentials') return otherwise();
    throw error;
  });

/** Whether the person must be asked what they allow the client. An application of the Account itself asks nobody. */
async function needsConsent(
  consents: Consents,
  { client, authorizeRequest, toAccount }: Visit,
  identityId: string,
): Promise<boolean> {
  if (!client.consentRequired || toAccount) return false;
  if (authorizeRequest.prompt.consent || couldBeAnyProgram(client, authorizeRequest)) return true;
  return !(await consents.cover(client, identityId, authorizeRequest.scope));
}

/** Redirects to the page that asks for consent: the session has begun, but no code is issued yet. */
const askForConsent = ({ request, reply, authorizeRequest }: Visit, more: Record<string, string> = {}) =>
  redirect(request, reply, '/oauth/consent', { ...authorizeRequest.parameters, ...more });

/** Redirects to the authorization endpoint, which continues with a session that suffices now (`resumed`). */
const fromSession = ({ request, reply, client, authorizeRequest: { parameters, redirectUri } }: Visit) =>
  onToSignIn(
    { request, reply, client, uiLocales: parameters.ui_locales, redirectUri },
    '/oauth/authorize',
    onceSignedIn(parameters),
  );

/** The steps that every kind of sign-in takes after its proof: the MFA gate, and back to the client with a code. */
export function createHostedLogin(
  provider: Provider,
  logins: Pick<Logins, 'gate' | 'pendingSignIns'>,
  { recovery }: Pick<Sso, 'recovery'>,
) {
  const { baseUrl, codes, consents, sessions, now } = provider;
  const { gate, pendingSignIns } = logins;
  const browser = secretCookie(baseUrl, 'hosted_session');
  const device = secretCookie(baseUrl, 'trusted_device');
  const codesBrowser = createCodesBrowser(provider);
  const { refuse, deny, leave } = createAuthorizationResponses(baseUrl);

  async function issue(visit: Visit, session: Omit<CodeSession, 'organizationId'>) {
    const { client, authorizeRequest, toAccount, organization } = visit;
    if (toAccount) return leave(visit, null);
    return leave(
      visit,
      await codes.issue(client, authorizeRequest, { ...session, organizationId: organization?.id ?? null }),
    );
  }

  /**
   * Starts or renews the browser's session.
   * @param code the row of the authorization code that it results in, if any
   */
  async function beginSession(
    { request, reply, client }: Visit,
    { method, ...proof }: FirstFactor,
    code: string | null = null,
  ): Promise<void> {
    const signedIn = await sessions.signIn({
      scope: environmentScopeOf(client),
      ...proof,
      goesOn: method === 'session',
      lifeSeconds: client.settings.sessionTtlSeconds,
      code,
      browser: browser.read(request),
      ipAddress: request.ip,
      userAgent: request.headers['user-agent'] ?? null,
    });
    browser.set(reply, signedIn.browser, signedIn.expiresAt, now());
  }

  /** Begins the session and returns to the client with a code. */
  async function complete(visit: Visit, first: FirstFactor): Promise<FastifyReply> {
    const { client, authorizeRequest, hintedSubject, toAccount, organization } = visit;
    const { method: _, ...proof } = first;
    // OpenID Connect Core 3.1.2.1: the client did not ask for anybody but the person in the hint.
    const isAnother = hintedSubject !== null && hintedSubject !== proof.identityId;
    const organizationId = organization?.id ?? null;
    const asksConsent = !isAnother && (await needsConsent(consents, visit, proof.identityId));
    const issued =
      isAnother || toAccount || asksConsent
        ? null
        : codes.prepare(client, authorizeRequest, { ...proof, organizationId });
    await beginSession(visit, first, issued?.row ?? null);
    if (isAnother) return refuse(visit, 'login_required', 'the person who signed in is not the one in id_token_hint');
    return asksConsent ? askForConsent(visit, justSignedIn) : leave(visit, issued?.code ?? null, justSignedIn);
  }

  const decide = (visit: Visit, first: FirstFactor, { hasProvedFactor = false }: Proved = {}) =>
    gate.decide({
      client: visit.client,
      first,
      device: device.read(visit.request),
      requiresAal2: visit.authorizeRequest.requiresAal2,
      prefersAal2: visit.authorizeRequest.prefersAal2 && !visit.authorizeRequest.prompt.none,
      // Only the account pages send `max_age` here, before changes that could lock the owner out.
      isOwnerWanted: visit.toAccount && visit.authorizeRequest.maxAge !== null,
      hasProvedFactor,
      organizationId: visit.organization?.id ?? null,
    });

  /** Somebody who has just proved who they are may use a recovery code, for the time when the provider is down. */
  function bar(visit: Visit, first: FirstFactor, { step: _, ...barred }: { step: 'barred' } & Barred) {
    const isOffered = barred.code === 'sso_required' && first.method !== 'session';
    if (!isOffered) return sendBarred(visit, barred, { isResumed: first.method === 'session' });
    codesBrowser.mark(visit.request, visit.reply); // recognizes the browser when its form comes twice
    const token = recovery.offer(recoveredBy(visit), { first, connections: barred.connections });
    return sendBarred(visit, barred, { recovery: { token, isWrong: false } });
  }

  /** Answers with what the person needs besides the first factor. */
  async function askForMore(
    visit: Visit,
    first: FirstFactor,
    decision: Exclude<Awaited<ReturnType<typeof decide>>, { step: 'done' }>,
    { hasProvedFactor = false }: Proved = {},
  ) {
    if (decision.step === 'refused') return sendMfaRefused(visit);
    if (decision.step === 'barred') return bar(visit, first, decision);
    if (decision.step === 'stranger' && first.method !== 'session') return deny(visit);
    if (decision.step === 'stranger') {
      await beginSession(visit, first); // stronger now; `resumed` then offers a sign-in to somebody else
      return fromSession(visit);
    }
    const { client, authorizeRequest } = visit;
    const begun = await pendingSignIns.begin({
      client,
      channel: 'hosted',
      purpose: decision.step === 'challenge' ? 'challenge' : 'enrollment',
      first,
      hasProvedFactor,
      requiresAal2: authorizeRequest.requiresAal2 || (decision.step === 'challenge' && decision.isForAal2 === true),
      parameters: authorizeRequest.parameters,
    });
    if (decision.step === 'challenge') return sendChallenge(visit, { ...begun, factors: decision.factors });
    return sendEnrollment(visit, { ...begun, factors: decision.factors, until: decision.until });
  }

  return {
    ...createVisits(provider),
    cookies: { browser, device },
    refuse,
    deny,
    complete,

    /** Continues after the first or the second factor: done, another factor, enrollment, or a refusal. */
    async proved(visit: Visit, first: FirstFactor, proved: Proved = {}): Promise<FastifyReply> {
      const decision = await decide(visit, first, proved);
      if (decision.step === 'done') return complete(visit, { ...first, ...decision });
      return askForMore(visit, first, decision, proved);
    },

    /** Continues without a second factor, while the grace period for enrolling one lasts. */
    async postponed(visit: Visit, first: FirstFactor, proved: Proved): Promise<FastifyReply> {
      const decision = await decide(visit, first, proved);
      if (decision.step === 'done') return complete(visit, { ...first, ...decision });
      if (decision.step === 'enroll' && decision.until !== null) return complete(visit, first);
      return askForMore(visit, first, decision, proved);
    },

    /** Shows the current choice of factors to enroll again; or answers `ended` if the sign-in has ended meanwhile. */
    async chooseFactor(
      visit: Visit,
      { pending, token }: { pending: OpenSignIn; token: string },
      ended: () => Promise<FastifyReply>,
    ): Promise<FastifyReply> {
      const first = provedIn(pending);
      const decision = await decide(visit, first, pending);
      if (decision.step === 'enroll') {
        const { factors, until } = decision;
        return sendEnrollment(visit, { token, expiresAt: pending.expiresAt, factors, until });
      }
      if (decision.step !== 'done') return askForMore(visit, first, decision, pending);
      if (!(await pendingSignIns.complete(pending.id))) return ended();
      return complete(visit, { ...first, ...decision });
    },

    /**
     * Continues with an existing session, which may have to become stronger. Answers `askForAnother` if its person does
     * not belong to the organization of the sign-in: somebody else may.
     */
    async resumed(
      visit: Visit,
      session: HostedSession,
      askForAnother: () => Promise<FastifyReply>,
    ): Promise<FastifyReply> {
      const asksConsent = await needsConsent(consents, visit, session.identityId);
      // Before anything about the person is revealed, such as whether they belong to the organization.
      if (asksConsent && visit.authorizeRequest.prompt.none)
        return refuse(visit, 'consent_required', 'the person has not consented to all of this');
      const first = factorOf(session);
      const decision = await decide(visit, first);
      if (decision.step === 'done') return asksConsent ? askForConsent(visit) : issue(visit, session);
      if (visit.authorizeRequest.prompt.none) {
        if (decision.step !== 'barred' && decision.step !== 'stranger')
          return refuse(visit, 'interaction_required', 'a second factor is needed');
        return refuse(visit, 'login_required', 'an organization does not accept the way of the earlier sign-in');
      }
      if (decision.step === 'stranger') return askForAnother();
      return askForMore(visit, first, decision);
    },

    /**
     * Continues after consent, in the session that was asked; or answers `begin`, and stores none, if that is too weak
     * now.
     */
    async consented(visit: Visit, session: HostedSession, begin: () => FastifyReply): Promise<FastifyReply> {
      const decision = await decide(visit, factorOf(session));
      // If an enrollment was offered on the way here, the person has postponed it.
      const isEnough = decision.step === 'done' || (decision.step === 'enroll' && decision.until !== null);
      if (!isEnough) return begin();
      await consents.grant(visit.client, session.identityId, visit.authorizeRequest.scope);
      return issue(visit, session);
    },
  };
}

/** What an existing session proves. */
function factorOf({ id: _, email: __, ...proven }: HostedSession): FirstFactor {
  return { ...proven, method: 'session', acr: proven.acr === aal2 ? aal2 : 'urn:gatehouse:aal1' };
}

export type HostedLogin = ReturnType<typeof createHostedLogin>;
