import type { Db } from '../../platform/database/db.js';
import type { AdminChallenge, AdminChallenges } from '../admin-mfa/challenges.js';
import { DomainError } from '../errors.js';
import { type Acr, aal2 } from '../sessions/first-factor.js';
import { type Binding, type Named, type Reachable, reachableOf, unbound } from './reachable.js';
import type { Selection, Selections } from './selections.js';
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

/** A user as a sign-in looks them up. */
export interface SigningInUser extends SignedInUser {
  passwordChangedAt: Date | null;
  mfaResetAt: Date | null;
}

/** A session was started, bound as far as there is something to bind it to. */
export type SignedIn = Binding &
  SessionTokens & {
    user: SignedInUser;
    /** The Account that it is bound to asks for a second factor, and the user has none: they enroll one first. */
    mfaEnrollmentRequired: boolean;
  };

export type SignInOutcome =
  | ({ outcome: 'authenticated' } & SignedIn)
  | ({ outcome: 'account_required' } & SignedIn)
  | ({ outcome: 'mfa_required' } & AdminChallenge)
  | {
      outcome: 'application_selection_required';
      selectionToken: string;
      applications: (Named & { account: Named })[];
    };

/** What comes when nothing more has to be proved. */
export type EnteredOutcome = Exclude<SignInOutcome, { outcome: 'mfa_required' }>;

/** What a first factor has proved. */
export interface FirstProof {
  method: 'password' | 'sso';
  /** RFC 8176, with `mfa` only where `acr` says so too. */
  amr: string[];
  /** `urn:gatehouse:aal2` where the first factor is two, as a provider's own: then no second one is asked for. */
  acr: Acr;
  /** The identity provider, where it was one, and the Account whose it is. */
  provider: Selection['provider'];
  /** When it was proved there (`provedAt`); null of what was proved here, right now. */
  authTime: Date | null;
  /** Whether whoever has a second factor of their own is asked for it after two of a provider's, too. */
  asksOwnFactor?: boolean | undefined;
}

/** What a sign-in asked for, and in which browser. */
export type SignInPlace = Browser & { applicationId?: string | undefined };

export interface OutcomesDeps {
  db: Pick<Db, 'statement'>;
  sessions: Pick<UserSessions, 'start'>;
  selections: Selections;
  challenges: Pick<AdminChallenges, 'ask'>;
}

/** What comes of a sign-in: where all ways of proving a platform admin meet (contract §4). */
export function createOutcomes({ db, sessions, selections, challenges }: OutcomesDeps) {
  async function start(
    { id: userId, email, firstName, lastName }: SigningInUser,
    { account, application }: Binding,
    session: Omit<Selection, 'userId'> & Browser & { proof?: SessionProof },
  ): Promise<SignedIn> {
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
      proof: session.proof ?? { passwordChangedAt: session.passwordChangedAt, mfaResetAt: session.mfaResetAt },
    });
    const mfaEnrollmentRequired = account?.requireMfa === true && session.acr !== aal2;
    return { account, application, user: { id: userId, email, firstName, lastName }, mfaEnrollmentRequired, ...tokens };
  }

  /** For whoever has proved all that is asked for: a session, or the choice of what to bind it to. */
  async function enter(
    user: SigningInUser,
    proved: Selection,
    { applicationId, ...browser }: SignInPlace,
  ): Promise<EnteredOutcome> {
    const reachable = reachableThrough(proved.provider, await reachableOf(db, user.id));
    const [first] = reachable;
    if (!first && proved.provider) throw new DomainError('auth.invalid_credentials'); // no member of its Account any more
    if (!first) return { outcome: 'account_required', ...(await start(user, unbound, { ...proved, ...browser })) };

    const choices = reachable.flatMap(({ account, application }) => (application ? [{ account, application }] : []));
    const [only = first, ...others] = choices;
    // Never another Application than the one that was asked for: an unknown one is put back to the person.
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
    enter,

    /** After a first factor: the question for the second one, for whoever has one, or what `enter` answers. */
    async decide(user: SigningInUser, first: FirstProof, place: SignInPlace): Promise<SignInOutcome> {
      const { method, asksOwnFactor = false, ...proved } = first;
      const selection = selections.begin(user, proved);
      const { userId, amr, authenticatedAt, authTime, passwordChangedAt, provider } = selection;
      const { connectionId: ssoConnectionId = null, ssoSessionId = null } = provider ?? {};
      const begun = {
        userId,
        method,
        amr,
        authenticatedAt,
        authTime,
        passwordChangedAt,
        ssoConnectionId,
        ssoSessionId,
      };
      const isEnough = first.acr === aal2 && !asksOwnFactor;
      const asked = isEnough ? null : await challenges.ask({ ...begun, applicationId: place.applicationId ?? null });
      return asked ? { outcome: 'mfa_required', ...asked } : enter(user, selection, place);
    },
  };
}

/** An Account's identity provider opens the Account, and no other one that the user is a member of. */
export const reachableThrough = (provider: Selection['provider'], all: Reachable[]): Reachable[] =>
  all.filter(({ account }) => !provider || account.id === provider.accountId);
