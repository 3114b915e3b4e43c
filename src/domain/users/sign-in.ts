import type { EntityManager } from 'typeorm';
import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import type { AdminChallenges, AdminSecondFactor } from '../admin-mfa/challenges.js';
import type { AdminPasskeys } from '../admin-mfa/passkeys.js';
import { type ProvedAsOf, provedAsOf } from '../admin-mfa/proved-as-of.js';
import { DomainError } from '../errors.js';
import { recordOfUser } from '../events/user-events.js';
import { addressTyped, inALabels } from '../logins/address.js';
import type { Passwords } from '../passwords/passwords.js';
import { aal1, aal2 } from '../sessions/first-factor.js';
import { adminConnectionByAddress } from '../sso-connections/covering.js';
import type { AdminSubject } from './admin-tokens.js';
import type { UserGuesses } from './guesses.js';
import {
  type Browser,
  createOutcomes,
  type EnteredOutcome,
  type FirstProof,
  reachableThrough,
  type SignedIn,
  type SignInOutcome,
  type SignInPlace,
  type SigningInUser,
} from './outcomes.js';
import { type Binding, type Reachable, reachableOf, unbound } from './reachable.js';
import { createSelections, type Selection } from './selections.js';
import type { UserSessions } from './user-sessions.js';

export interface ProvedByProvider extends Pick<ProvedAsOf, 'emailChangedAt'> {
  userId: string;
  accountId: string;
  connectionId: string;
  /** Their session at the provider, in `sso_sessions`. */
  ssoSessionId: string | null;
  /** RFC 8176, as the provider reports it; `mfa` means that it has checked two factors itself. */
  amr: string[];
  /** When they proved who they are at the provider (`provedAt`). */
  authTime: Date;
  /** Whether the user's own second factor is required even if the provider reports `mfa`. */
  asksOwnFactor?: boolean;
  /** The Application that the sign-in asked for. */
  applicationId: string | null;
}

/** The outcome of a sign-in by an identity provider, which leads to no other. */
export type ProviderOutcome = Exclude<SignInOutcome, { outcome: 'sso_required' }>;

export interface SignIn {
  /**
   * Signs in by password. A failure gets the same answer after the same time, whether or not anybody has the address:
   * `sso_required` if an Account's own identity provider is responsible for the address's domain. The right password
   * has that outcome, too, if the Account admits the user only by its provider, and is then counted like a wrong one.
   * @throws DomainError auth.invalid_credentials otherwise; rate_limit.exceeded after too many failures for the
   *   address, whether or not anybody has it, and even for the right password
   */
  signIn(
    attempt: { email: string; password: string } & SignInPlace,
  ): Promise<SignInOutcome | { outcome: 'sso_required' }>;
  /**
   * Signs in by a passkey, which stands for the password and the second factor.
   * @param attempt `token` as `passkeys.begin` returned it, and what the browser sent, not validated yet
   * @throws DomainError mfa.challenge_invalid, auth.invalid_credentials, mfa.second_factor_only
   */
  signInByPasskey(attempt: { token: string; sent: unknown } & SignInPlace): Promise<EnteredOutcome>;
  /**
   * Continues for a user whom an identity provider has proved, in the provider's Account.
   * @throws DomainError auth.invalid_credentials if their membership of that Account has ended, or they have another
   *   address since the provider proved them
   */
  signInByProvider(proved: ProvedByProvider & Browser): Promise<ProviderOutcome>;
  /**
   * Continues with a second factor.
   * @throws DomainError mfa.challenge_invalid, mfa.code_invalid, mfa.challenge_locked; auth.invalid_credentials if the
   *   first factor is not valid any more
   */
  answerChallenge(
    answer: { challengeToken: string; proof: AdminSecondFactor; locale: 'en' | 'de' } & Browser,
  ): Promise<EnteredOutcome>;
  /**
   * Starts the session in the chosen Application, once for each selection token.
   * @throws DomainError auth.invalid_credentials for an invalid token, application.not_found if they do not reach it,
   *   account.sso_required if its Account admits them only by its own identity provider
   */
  selectApplication(choice: { selectionToken: string; applicationId: string } & Browser): Promise<SignedIn>;
  /**
   * Starts the session of a user who has just proved the address by its link, under the given id, so that it starts
   * once.
   * @throws DomainError registration.link_invalid if the user has a second factor by now, which no link can replace
   */
  signInConfirmed(place: { userId: string; applicationId: string; sessionId: string } & Browser): Promise<SignedIn>;
  /** Starts another session of a signed-in user, for the Account that they have just created. The old session stays. */
  signInCreated(place: { subject: AdminSubject; applicationId: string } & Browser): Promise<SignedIn>;
}

export interface SignInDeps {
  db: Db;
  passwords: Pick<Passwords, 'hash' | 'verify' | 'needsRehash'>;
  sessions: Pick<UserSessions, 'start'>;
  challenges: Pick<AdminChallenges, 'ask' | 'answer' | 'isAsked'>;
  passkeys: Pick<AdminPasskeys, 'answer'>;
  sealing: Pick<Sealing, 'seal' | 'open'>;
  guesses: Pick<UserGuesses, 'signIn'>;
  /** Called when a password could not be rehashed; the user is signed in nevertheless. */
  onRehashError: (error: unknown) => void;
  now: Clock;
}

/** A sign-in with an unknown address or a wrong password. */
interface Failure {
  /** The user with this address; null if nobody has it. */
  userId: string | null;
  email: string;
  /** If this is the last failure that the day allows: when the next attempt is allowed. */
  locksUntil: Date | null;
}

type UserRow = SigningInUser & { passwordHash: string | null };

const columns = `id, email, first_name as "firstName", last_name as "lastName", password_hash as "passwordHash", ${provedAsOf}`;
const byEmail = { name: 'user_by_email', text: `select ${columns} from users where id = gatehouse_user_id($1)` };
const byId = { name: 'user_by_id', text: `select ${columns} from users where id = $1` };
const ownSession = {
  name: 'own_user_session_with_auth_time',
  text: `select s.authenticated_at as "authenticatedAt", s.auth_time as "authTime", s.amr, s.acr,
  case when c.id is not null then json_build_object('connectionId', c.id, 'accountId', c.account_id, 'ssoSessionId', s.sso_session_id) end as provider
from user_sessions s left join sso_connections c on c.id = s.sso_connection_id where s.id = $1 and s.user_id = $2`,
};
const rehash = {
  name: 'rehash_user_password',
  text: 'update users set password_hash = $3 where id = $1 and password_hash = $2',
};

/** The binding of a session to an Application of an Account that the user has just created. */
const bindingTo = (applicationId: string, reachable: Reachable[]): Binding =>
  reachable.find(({ application, ssoOnly }) => !ssoOnly && application?.id === applicationId) ?? unbound;

const recordLock = (tx: EntityManager, userId: string, until: Date): Promise<unknown> =>
  recordOfUser(tx, 'auth.admin_locked', { resourceId: userId, metadata: { locked_until: until.toISOString() } });

/** For a proof that was given to us, right now, and not to an identity provider. */
const provedHere = { provider: null, authTime: null };

/** Signs platform admins in (contract §4). */
export function createSignIn(deps: SignInDeps): SignIn {
  const { db, passwords, sessions, challenges, passkeys, sealing, guesses, onRehashError, now } = deps;
  const selections = createSelections({ sealing, now });
  const outcomes = createOutcomes({ db, sessions, selections, challenges });

  /** Whether SSO is required depends on the address alone, so that the answer does not tell whether anybody has it. */
  async function refuse({ userId, email, locksUntil }: Failure): Promise<{ outcome: 'sso_required' }> {
    const connection = await db.transaction('system', async (tx) => {
      // The event names the user's id; an address that nobody has is not stored.
      await recordOfUser(tx, 'auth.admin_sign_in_failed', { resourceId: userId, outcome: 'failure' });
      if (locksUntil && userId) await recordLock(tx, userId, locksUntil);
      return adminConnectionByAddress(tx, addressTyped(email));
    });
    if (!connection) throw new DomainError('auth.invalid_credentials');
    return { outcome: 'sso_required' };
  }

  /** Rehashes an old hash with the current, stronger parameters. No sign-in waits for this. */
  async function strengthen({ id, passwordHash }: UserRow, password: string): Promise<void> {
    if (passwordHash === null || !passwords.needsRehash(passwordHash)) return;
    await db.statement(rehash, [id, passwordHash, await passwords.hash(password)]);
  }

  async function userOf(userId: string): Promise<UserRow> {
    const [user] = await db.statement<UserRow>(byId, [userId]);
    if (!user) throw new DomainError('auth.invalid_credentials');
    return user;
  }

  return {
    async signIn({ email: typed, password, ...place }) {
      const email = inALabels(typed);
      // A failure takes the same work for every address: one count, one look-up, one verification, one event, one
      // search for a provider.
      const locksUntil = await guesses.signIn.begin(email);
      const { user, matches } = await guesses.signIn.look(email, async () => {
        const [found] = await db.statement<UserRow>(byEmail, [email]);
        return { user: found, matches: await passwords.verify(found?.passwordHash ?? null, password) };
      });
      if (!user || !matches) return refuse({ userId: user?.id ?? null, email, locksUntil });
      strengthen(user, password).catch(onRehashError);
      const first: FirstProof = { method: 'password', amr: ['pwd'], acr: aal1, ...provedHere };
      const outcome = await guesses.signIn.look(email, () => outcomes.decide(user, first, place));
      // The answer to a wrong password has to be counted like one: otherwise the limit would tell that this one is right.
      if (outcome.outcome !== 'sso_required') await guesses.signIn.succeeded(email);
      else if (locksUntil) await db.transaction('system', (tx) => recordLock(tx, user.id, locksUntil));
      return outcome;
    },

    async signInByPasskey({ token, sent, ...place }) {
      const { userId, amr, ...held } = await passkeys.answer({ token, sent });
      const user = { ...(await userOf(userId)), ...held };
      return outcomes.enter(user, selections.begin(user, { amr, acr: aal2, ...provedHere }), place);
    },

    async signInByProvider({ userId, emailChangedAt, amr, authTime, asksOwnFactor, applicationId, ...by }) {
      const { accountId, connectionId, ssoSessionId, ...browser } = by;
      const provider = { connectionId, accountId, ssoSessionId };
      const [row, all] = await Promise.all([userOf(userId), reachableOf(db, userId)]);
      const user = { ...row, emailChangedAt };
      if (reachableThrough(provider, all).length === 0) throw new DomainError('auth.invalid_credentials');
      const acr = amr.includes('mfa') ? aal2 : aal1;
      const place = { ...browser, applicationId: applicationId ?? undefined };
      const outcome = await outcomes.decide(
        user,
        { method: 'sso', amr, acr, provider, authTime, asksOwnFactor },
        place,
      );
      if (outcome.outcome === 'sso_required') throw new DomainError('auth.invalid_credentials'); // never: it has come from there
      return outcome;
    },

    async answerChallenge({ challengeToken, proof, locale, ...browser }) {
      const { signIn, proved, mfaResetAt, emailChangedAt } = await challenges.answer(challengeToken, proof, locale);
      const { id: sessionId, userId, authenticatedAt, authTime, passwordChangedAt, provider, applicationId } = signIn;
      const { amr, acr } = proved;
      const first = { authenticatedAt, authTime, passwordChangedAt, provider };
      const selection = { sessionId, userId, mfaResetAt, emailChangedAt, ...first, amr, acr };
      return outcomes.enter(await userOf(userId), selection, { ...browser, applicationId: applicationId ?? undefined });
    },

    async selectApplication({ selectionToken, applicationId, ...browser }) {
      const selection = selections.read(selectionToken);
      if (!selection) throw new DomainError('auth.invalid_credentials');
      const user = await userOf(selection.userId);
      // The user has enrolled a second factor since, which this sign-in has not proved.
      if (selection.acr !== aal2 && (await challenges.isAsked(user.id))) {
        throw new DomainError('auth.invalid_credentials');
      }
      const all = await reachableOf(db, user.id);
      const isChosen = ({ application }: Reachable) => application?.id === applicationId;
      const chosen = reachableThrough(selection.provider, all).find(isChosen);
      const isClosed = !selection.provider && all.some(isChosen); // since the choice was offered
      if (!chosen) throw new DomainError(isClosed ? 'account.sso_required' : 'application.not_found');
      return outcomes.start(user, chosen, { ...selection, ...browser }).catch((error: unknown) => {
        throw violates(error, 'user_sessions_pkey') ? new DomainError('auth.invalid_credentials') : error;
      });
    },

    async signInConfirmed({ userId, applicationId, sessionId, ...browser }) {
      const [user, reachable, isAsked] = await Promise.all([
        userOf(userId),
        reachableOf(db, userId),
        challenges.isAsked(userId),
      ]);
      if (isAsked) throw new DomainError('registration.link_invalid');
      const binding = bindingTo(applicationId, reachable);
      // RFC 8176 has no name for a link in a mail; it is a secret that works once.
      const proved = selections.begin(user, { amr: ['otp'], acr: aal1, ...provedHere });
      return outcomes.start(user, binding, { ...proved, sessionId, ...browser });
    },

    async signInCreated({ subject, applicationId, ...browser }) {
      const { userId, sessionId } = subject;
      type Proved = Pick<Selection, 'authenticatedAt' | 'authTime' | 'amr' | 'acr' | 'provider'>;
      const [user, [own], reachable] = await Promise.all([
        userOf(userId),
        db.statement<Proved>(ownSession, [sessionId, userId]),
        reachableOf(db, userId),
      ]);
      if (!own) throw new DomainError('auth.invalid_credentials');
      const binding = bindingTo(applicationId, reachable);
      // The user proves nothing again: the new session takes over what the calling session says about its proof.
      return outcomes.start(user, binding, {
        ...selections.begin(user, own),
        ...own,
        proof: { sessionId },
        ...browser,
      });
    },
  };
}
