import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { type Db, violates } from '../../platform/db.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events.js';
import type { Passwords } from '../passwords/passwords.js';
import type { AdminSubject } from './admin-tokens.js';
import { type Binding, type Named, type Reachable, reachableOf, unbound } from './reachable.js';
import { createSelections, type Selection } from './selections.js';
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

/** A session was started, bound as far as there is something to bind it to. */
export type SignedIn = Binding & SessionTokens & { user: SignedInUser };

export type SignInOutcome =
  | ({ outcome: 'authenticated' } & SignedIn)
  | ({ outcome: 'account_required' } & SignedIn)
  | {
      outcome: 'application_selection_required';
      selectionToken: string;
      applications: (Named & { account: Named })[];
    };

export interface SignIn {
  /** @throws DomainError auth.invalid_credentials after the same time, whatever was wrong. */
  signIn(attempt: { email: string; password: string; applicationId?: string } & Browser): Promise<SignInOutcome>;
  /**
   * Starts the session that waited for its Application; once per selection token.
   * @throws DomainError auth.invalid_credentials by the token, application.not_found when it is not one of the user's.
   */
  selectApplication(choice: { selectionToken: string; applicationId: string } & Browser): Promise<SignedIn>;
  /** Starts the session of a user who has just proved the address by its link; its id is given, so that it starts once. */
  signInConfirmed(place: { userId: string; applicationId: string; sessionId: string } & Browser): Promise<SignedIn>;
  /**
   * Starts the session of a user whom an identity provider has proved: in the Account whose it is.
   * @throws DomainError auth.invalid_credentials when they are no member of it any more
   */
  signInByProvider(proved: ProvedByProvider & Browser): Promise<SignInOutcome>;
  /** Starts another session of who is signed in, for the Account that they have just created. The old one stays. */
  signInCreated(place: { subject: AdminSubject; applicationId: string } & Browser): Promise<SignedIn>;
}

export interface ProvedByProvider {
  userId: string;
  accountId: string;
  connectionId: string;
  amr: string[];
  authenticatedAt: Date;
  /** The one that was asked for. */
  applicationId: string | null;
}

export interface SignInDeps {
  db: Db;
  passwords: Pick<Passwords, 'hash' | 'verify' | 'needsRehash'>;
  sessions: Pick<UserSessions, 'start'>;
  sealing: Pick<Sealing, 'seal' | 'open'>;
  now: Clock;
}

interface UserRow extends SignedInUser {
  passwordHash: string | null;
  passwordChangedAt: Date | null;
}

const columns = `id, email, first_name as "firstName", last_name as "lastName", password_hash as "passwordHash",
  password_changed_at as "passwordChangedAt"`;
const byEmail = { name: 'user_by_email', text: `select ${columns} from users where id = gatehouse_user_id($1)` };
const byId = { name: 'user_by_id', text: `select ${columns} from users where id = $1` };
const ownSession = {
  name: 'own_user_session',
  text: `select authenticated_at as "authenticatedAt", amr from user_sessions where id = $1 and user_id = $2`,
};
const rehash = {
  name: 'rehash_user_password',
  text: 'update users set password_hash = $3 where id = $1 and password_hash = $2',
};

/** How platform admins sign in (contract §4). */
export function createSignIn({ db, passwords, sessions, sealing, now }: SignInDeps): SignIn {
  const selections = createSelections({ sealing, now });

  async function start(
    user: UserRow,
    { account, application }: Binding,
    session: Omit<Selection, 'userId'> & Browser & { proof?: SessionProof },
  ) {
    const { passwordHash: _, passwordChangedAt: __, ...signedIn } = user;
    const tokens = await sessions.start({
      id: session.sessionId,
      userId: user.id,
      accountId: account?.id ?? null,
      applicationId: application?.id ?? null,
      amr: session.amr,
      authenticatedAt: session.authenticatedAt,
      ssoConnectionId: session.provider?.connectionId ?? null,
      ipAddress: session.ipAddress,
      userAgent: session.userAgent,
      proof: session.proof ?? { passwordChangedAt: session.passwordChangedAt },
    });
    return { account, application, user: signedIn, ...tokens };
  }

  /** Starts the session where there is one place for it, and puts several to the person. */
  async function place(
    user: UserRow,
    proof: Selection,
    { reachable, applicationId, browser }: Choosing,
  ): Promise<SignInOutcome> {
    const [first] = reachable;
    if (!first) return { outcome: 'account_required', ...(await start(user, unbound, { ...proof, ...browser })) };

    const choices = reachable.flatMap(({ account, application }) => (application ? [{ account, application }] : []));
    const [only = first, ...others] = choices;
    // Never another Application than the one that was asked for: an unknown one is put back to the person.
    const asked = choices.length > 0 ? applicationId : undefined;
    const chosen = asked ? choices.find(({ application }) => application.id === asked) : others.length === 0 && only;
    if (chosen) return { outcome: 'authenticated', ...(await start(user, chosen, { ...proof, ...browser })) };
    return {
      outcome: 'application_selection_required',
      selectionToken: selections.write(proof),
      applications: choices.map(({ account, application }) => ({ ...application, account })),
    };
  }

  async function refuse(userId: string | null): Promise<never> {
    await db.transaction('system', (tx) =>
      // Who was tried is the user's id; an address that nobody has is not kept.
      recordEvent(tx, 'auth.admin_sign_in_failed', { resourceId: userId, outcome: 'failure' }),
    );
    throw new DomainError('auth.invalid_credentials');
  }

  return {
    async signIn({ email, password, applicationId, ...browser }) {
      // The same work for every address: one look-up, one verification, one event.
      const [user] = await db.statement<UserRow>(byEmail, [email]);
      const matches = await passwords.verify(user?.passwordHash ?? null, password);
      if (!user || !matches) return refuse(user?.id ?? null);
      if (user.passwordHash && passwords.needsRehash(user.passwordHash)) {
        await db.statement(rehash, [user.id, user.passwordHash, await passwords.hash(password)]);
      }

      return place(user, selections.begin(user, ['pwd']), {
        reachable: await reachableOf(db, user.id),
        applicationId,
        browser,
      });
    },

    async selectApplication({ selectionToken, applicationId, ...browser }) {
      const selection = selections.read(selectionToken);
      const [user] = selection ? await db.statement<UserRow>(byId, [selection.userId]) : [];
      if (!selection || !user) throw new DomainError('auth.invalid_credentials');
      const reachable = within(selection.provider, await reachableOf(db, user.id));
      const chosen = reachable.find(({ application }) => application?.id === applicationId);
      if (!chosen) throw new DomainError('application.not_found');
      return start(user, chosen, { ...selection, ...browser }).catch((error: unknown) => {
        throw violates(error, 'user_sessions_pkey') ? new DomainError('auth.invalid_credentials') : error;
      });
    },

    async signInConfirmed({ userId, applicationId, sessionId, ...browser }) {
      const [[user], reachable] = await Promise.all([db.statement<UserRow>(byId, [userId]), reachableOf(db, userId)]);
      if (!user) throw new DomainError('auth.invalid_credentials');
      const binding = reachable.find(({ application }) => application?.id === applicationId) ?? unbound;
      // RFC 8176 has no name for a link in a mail; it is a secret that works once.
      return start(user, binding, { ...selections.begin(user, ['otp']), sessionId, ...browser });
    },

    async signInByProvider({ userId, accountId, connectionId, amr, authenticatedAt, applicationId, ...browser }) {
      const [[user], all] = await Promise.all([db.statement<UserRow>(byId, [userId]), reachableOf(db, userId)]);
      const provider = { connectionId, accountId };
      const reachable = within(provider, all);
      if (!user || reachable.length === 0) throw new DomainError('auth.invalid_credentials');
      const proof = { ...selections.begin(user, amr, provider), authenticatedAt };
      return place(user, proof, { reachable, applicationId: applicationId ?? undefined, browser });
    },

    async signInCreated({ subject, applicationId, ...browser }) {
      const { userId, sessionId } = subject;
      const [[user], [own], reachable] = await Promise.all([
        db.statement<UserRow>(byId, [userId]),
        db.statement<Pick<Selection, 'authenticatedAt' | 'amr'>>(ownSession, [sessionId, userId]),
        reachableOf(db, userId),
      ]);
      if (!user || !own) throw new DomainError('auth.invalid_credentials');
      const binding = reachable.find(({ application }) => application?.id === applicationId) ?? unbound;
      // Nothing was proved anew: how and when is what the session that asks says.
      return start(user, binding, { ...selections.begin(user, own.amr), ...own, proof: { sessionId }, ...browser });
    },
  };
}

interface Choosing {
  reachable: Reachable[];
  applicationId: string | undefined;
  browser: Browser;
}

/** An Account's identity provider opens the Account, and no other one that the user is a member of. */
const within = (provider: Selection['provider'], reachable: Reachable[]): Reachable[] =>
  reachable.filter(({ account }) => !provider || account.id === provider.accountId);
