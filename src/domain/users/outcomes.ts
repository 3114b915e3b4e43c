import type { Db } from '../../platform/database/db.js';
import type { AdminChallenge, AdminChallenges } from '../admin-mfa/challenges.js';
import type { ProvedAsOf } from '../admin-mfa/proved-as-of.js';
import { DomainError } from '../errors.js';
import { type Acr, aal2 } from '../sessions/first-factor.js';
import { type Binding, type Named, type Reachable, reachableOf, unbound } from './reachable.js';
import type { Selection, Selections } from './selections.js';
import { type SsoRequired, sentToProvider } from './sent-to-provider.js';
import type { SessionProof, SessionTokens, UserSessions } from './user-sessions.js';

export interface Browser {
  ipAddress: string | null;
  userAgent: string | null;
}

export interface SignedInUser {
  id: string;
  email: string;
  firstName: string;
  lastName: string;
}

/** A user with what a sign-in has to know about them. */
export type SigningInUser = SignedInUser & ProvedAsOf;

/** A started session, bound to an Account and an Application if the user has any. */
export type SignedIn = Binding &
  SessionTokens & {
    user: SignedInUser;
    /** The session's Account requires a second factor and the session has none: the user has to enroll one first. */
    mfaEnrollmentRequired: boolean;
  };

export type SignInOutcome =
  | ({ outcome: 'authenticated' } & SignedIn)
  | ({ outcome: 'account_required' } & SignedIn)
  | ({ outcome: 'mfa_required' } & AdminChallenge)
  | SsoRequired
  | {
      outcome: 'application_selection_required';
      selectionToken: string;
      applications: (Named & { account: Named })[];
    };

/** The outcomes once everything that is required has been proved. */
export type EnteredOutcome = Exclude<SignInOutcome, { outcome: 'mfa_required' }>;

/** What a first factor has proved. */
export interface FirstProof {
  method: 'password' | 'sso';
  /** RFC 8176; contains `mfa` only if `acr` is `urn:gatehouse:aal2`. */
  amr: string[];
  /** `urn:gatehouse:aal2` if this proof was two factors, such as a provider's own: then no second one is required. */
  acr: Acr;
  /** The identity provider that proved the user, if one did, and its Account. */
  provider: Selection['provider'];
  /** When the provider says that the user proved it (`provedAt`); null if it was proved here, right now. */
  authTime: Date | null;
  /** Whether users with a second factor of their own have to prove it even after two factors at the provider. */
  asksOwnFactor?: boolean | undefined;
}

/** The browser of a sign-in and the Application that it asked for. */
export type SignInPlace = Browser & { applicationId?: string | undefined };

export interface OutcomesDeps {
  db: Pick<Db, 'statement' | 'transaction'>;
  sessions: Pick<UserSessions, 'start'>;
  selections: Selections;
  challenges: Pick<AdminChallenges, 'ask'>;
}

/** Decides the outcome of a sign-in, for every way in which a platform admin can prove who they are (contract §4). */
export function createOutcomes({ db, sessions, selections, challenges }: OutcomesDeps) {
  async function start(
    { id: userId, email, firstName, lastName }: SigningInUser,
    { account, application }: Binding,
    session: Omit<Selection, 'userId'> & Browser & { proof?: SessionProof },
  ): Promise<SignedIn> {
    const { passwordChangedAt, mfaResetAt, emailChangedAt } = session;
    const tokens = await sessions.start({
      id: session.sessionId,
      userId,
      accountId: account?.id ?? null,
      applicationId: application?.id ?? null,
      amr: session.amr,
      acr: session.acr,
      ssoConnectionId: session.provider?.connectionId ?? null,
      ssoSessionId: session.provider?.ssoSessionId ?? null,
      authenticatedAt: session.authenticatedAt,
      authTime: session.authTime,
      ipAddress: session.ipAddress,
      userAgent: session.userAgent,
      proof: session.proof ?? { passwordChangedAt, mfaResetAt, emailChangedAt },
    });
    const mfaEnrollmentRequired = account?.requireMfa === true && session.acr !== aal2;
    return { account, application, user: { id: userId, email, firstName, lastName }, mfaEnrollmentRequired, ...tokens };
  }

  /** Reads what the user can bind a session to, and whether their proof leads to an identity provider instead. */
  async function reachOf(
    user: SigningInUser,
    { provider, amr }: Pick<FirstProof, 'provider' | 'amr'>,
    { applicationId }: SignInPlace,
  ): Promise<{ all: Reachable[]; elsewhere: SsoRequired | null }> {
    const all = await reachableOf(db, user.id);
    // A provider's own proof leads to no other provider.
    const elsewhere = provider ? null : await sentToProvider(db, { user, amr, all, applicationId });
    return { all, elsewhere };
  }

  /** Starts a session for a user who has proved everything required, or offers the Applications to bind it to. */
  async function letIn(
    user: SigningInUser,
    proved: Selection,
    { all, applicationId, ...browser }: SignInPlace & { all: Reachable[] },
  ): Promise<EnteredOutcome> {
    const reachable = reachableThrough(proved.provider, all);
    const [first] = reachable;
    if (!first && proved.provider) throw new DomainError('auth.invalid_credentials'); // not a member any more
    if (!first) return { outcome: 'account_required', ...(await start(user, unbound, { ...proved, ...browser })) };

    const choices = reachable.flatMap(({ account, application }) => (application ? [{ account, application }] : []));
    const [only = first, ...others] = choices;
    // Never binds to another Application than the requested one: if that is unknown, the person chooses.
    const asked = choices.length > 0 ? applicationId : undefined;
    const chosen = asked ? choices.find(({ application }) => application.id === asked) : others.length === 0 && only;
    if (chosen) return { outcome: 'authenticated', ...(await start(user, chosen, { ...proved, ...browser })) };
    return {
      outcome: 'application_selection_required',
      selectionToken: selections.write(proved),
      applications: choices.map(({ account, application }) => ({ ...application, account })),
    };
  }

  return {
    start,

    /** Continues after the last factor. What the user's Accounts require is read again. */
    async enter(user: SigningInUser, proved: Selection, place: SignInPlace): Promise<EnteredOutcome> {
      const { all, elsewhere } = await reachOf(user, proved, place);
      return elsewhere ?? letIn(user, proved, { ...place, all });
    },

    /**
     * Continues after a first factor: with a challenge if the user has a second factor, otherwise as `enter`. Whoever is
     * sent to an identity provider is not asked for a second factor here, so that the answer is that to a wrong password.
     */
    async decide(user: SigningInUser, first: FirstProof, place: SignInPlace): Promise<SignInOutcome> {
      const { method, asksOwnFactor = false, ...proved } = first;
      const { all, elsewhere } = await reachOf(user, proved, place);
      if (elsewhere) return elsewhere;
      const selection = selections.begin(user, proved);
      const { userId, amr, authenticatedAt, authTime, passwordChangedAt, emailChangedAt, provider } = selection;
      const { connectionId: ssoConnectionId = null, ssoSessionId = null } = provider ?? {};
      const begun = {
        userId,
        method,
        amr,
        authenticatedAt,
        authTime,
        passwordChangedAt,
        emailChangedAt,
        ssoConnectionId,
        ssoSessionId,
      };
      const isEnough = first.acr === aal2 && !asksOwnFactor;
      const asked = isEnough ? null : await challenges.ask({ ...begun, applicationId: place.applicationId ?? null });
      return asked ? { outcome: 'mfa_required', ...asked } : letIn(user, selection, { ...place, all });
    },
  };
}

/**
 * An Account's identity provider grants access to that Account only, not to others that the user is a member of; and
 * what is proved here grants none to an Account that requires its own provider.
 */
export const reachableThrough = (provider: Selection['provider'], all: Reachable[]): Reachable[] =>
  all.filter(({ account, ssoOnly }) => (provider ? account.id === provider.accountId : !ssoOnly));
