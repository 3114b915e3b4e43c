import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { assertNotByTestProvider } from '../access/assignments/production-people.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { createGuesses } from '../limits/guesses.js';
import { environmentRule } from '../passwords/context-rows.js';
import { hasJustSet } from '../passwords/just-set.js';
import { settleNewPassword } from '../passwords/new-password.js';
import type { Passwords } from '../passwords/passwords.js';
import { verifyTyped } from '../passwords/verify-typed.js';
import { lockSession } from '../sessions/lock-session.js';

export interface OwnPasswordChange {
  identityId: string;
  /** The session in which it is changed. It continues, all others end. */
  sessionId: string;
  /** The current password as typed; not checked if the person has none. */
  currentPassword: string;
  newPassword: string;
}

export interface OwnPasswordDeps {
  db: Db;
  passwords: Pick<Passwords, 'hash' | 'verify' | 'assertAcceptable'>;
  /** Whether wrong passwords are counted. */
  rateLimits: boolean;
  now: Clock;
}

const readHash = {
  name: 'own_password_hash',
  text: `select password_hash as "hash", password_changed_at as "changedAt" from identities where account_id = $1 and id = $2`,
};
const readCurrent = `
select i.password_changed_at as "changedAt",
  (select m.id from environment_memberships m where m.environment_id = $3 and m.identity_id = i.id) as "membershipId"
from identities i where i.account_id = $1 and i.id = $2`;

/** The current password of somebody who has one. */
interface StoredPassword {
  hash: string;
  changedAt: Date | null;
}

interface CurrentPassword {
  changedAt: Date | null;
  membershipId: string | null;
}

/**
 * Changes the password of a signed-in person. Somebody who has none, since they sign in by other ways, chooses one. The
 * caller has checked that the sign-in is recent and strong enough. A form that is sent twice within a minute is
 * answered like the first time.
 * @throws DomainError password.wrong, rate_limit.exceeded, password.breached, password.context_specific,
 *   validation.failed, auth.invalid_credentials for a session that has ended meanwhile, identity.in_production for a
 *   first one by a sign-in for tests
 */
export function createOwnPassword({ db, passwords, rateLimits, now }: OwnPasswordDeps) {
  // Counted for the Identity, apart from guesses at sign-in, which strangers can use up: here only somebody who is
  // signed in can guess.
  const guesses = createGuesses<string>({
    db,
    enabled: rateLimits,
    now,
    burst: 'own-password-change',
    day: 'own-password-change-day',
    accountOf: (identityId) => identityId,
  });

  /**
   * Checks the current password: `current` to continue, or `changed` if the same form has changed it already.
   */
  async function prove(scope: EnvironmentScope, { hash, changedAt }: StoredPassword, change: OwnPasswordChange) {
    const { identityId, currentPassword, newPassword } = change;
    await guesses.begin(identityId);
    const proved = await guesses.look(identityId, async () => {
      if (await verifyTyped(passwords, hash, currentPassword, scope.accountId)) return 'current';
      const set = { usedAt: changedAt, passwordHash: hash };
      return (await hasJustSet(passwords, set, { password: newPassword, now: now() })) ? 'changed' : null;
    });
    if (proved !== null) {
      await guesses.succeeded(identityId);
      return proved;
    }
    await db.transaction(scope, (tx) =>
      recordEvent(tx, 'auth.identity_password_change_failed', {
        ...scope,
        resourceId: identityId,
        outcome: 'failure',
        actor: { type: 'identity', id: identityId },
      }),
    );
    throw new DomainError('password.wrong');
  }

  /** Changes the password. False if it was replaced meanwhile, so that the check is void. */
  async function attempt(scope: EnvironmentScope, change: OwnPasswordChange): Promise<boolean> {
    const { identityId, sessionId, newPassword } = change;
    const { accountId, environmentId } = scope;
    const [before] = await db.statement<{ hash: string | null; changedAt: Date | null }>(readHash, [
      accountId,
      identityId,
    ]);
    const { hash = null, changedAt = null } = before ?? {};
    if (hash !== null && (await prove(scope, { hash, changedAt }, change)) === 'changed') return true;
    const rule = await db.transaction(scope, (tx) => environmentRule(tx, scope, identityId));
    await passwords.assertAcceptable(newPassword, { ...rule, field: 'new_password' });
    const passwordHash = await passwords.hash(newPassword);
    // The person has one password in the Account, and sessions in any of its Environments.
    return db.transaction({ accountId }, async (tx) => {
      const at = now();
      const { ssoConnectionId } = await lockSession(tx, { ...scope, identityId, sessionId });
      if (hash === null) await assertNotByTestProvider(tx, scope, identityId, ssoConnectionId);
      const [current] = await tx.query<CurrentPassword[]>(readCurrent, [accountId, identityId, environmentId]);
      if (current?.changedAt?.getTime() !== changedAt?.getTime()) return false;
      await settleNewPassword(
        tx,
        { ...scope, identityId, membershipId: current?.membershipId ?? null },
        { passwordHash, method: 'own', provesEmail: false, keepSessionId: sessionId, now: at },
      );
      return true;
    });
  }

  return async (scope: EnvironmentScope, change: OwnPasswordChange): Promise<void> => {
    // Somebody else, or the same form, has replaced the password: a second try shows which.
    if ((await attempt(scope, change)) || (await attempt(scope, change))) return;
    throw new DomainError('password.wrong');
  };
}

export type OwnPassword = ReturnType<typeof createOwnPassword>;
