import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { assertNotByTestProvider } from '../access/production-people.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { createGuesses } from '../guesses.js';
import { environmentRule } from '../passwords/context-rows.js';
import { hasJustSet } from '../passwords/just-set.js';
import { settleNewPassword } from '../passwords/new-password.js';
import type { Passwords } from '../passwords/passwords.js';
import { verifyTyped } from '../passwords/verify-typed.js';
import { holdSession } from '../sessions/hold.js';

export interface OwnPasswordChange {
  identityId: string;
  /** In which it is changed; it goes on, and all others end. */
  sessionId: string;
  /** What the person says it is now; not looked at where they have none. */
  currentPassword: string;
  newPassword: string;
}

export interface OwnPasswordDeps {
  db: Db;
  passwords: Pick<Passwords, 'hash' | 'verify' | 'assertAcceptable'>;
  /** Whether wrong guesses are counted. */
  rateLimits: boolean;
  now: Clock;
}

const readHash = {
  name: 'own_password_hash',
  text: `select password_hash as "hash", password_changed_at as "changedAt" from identities where account_id = $1 and id = $2`,
};
const readHeld = `
select i.password_changed_at as "changedAt",
  (select m.id from environment_memberships m where m.environment_id = $3 and m.identity_id = i.id) as "membershipId"
from identities i where i.account_id = $1 and i.id = $2`;

interface Held {
  changedAt: Date | null;
  membershipId: string | null;
}

/**
 * Changes the password of who is signed in; somebody who has none, because they sign in by other ways, chooses one. The caller
 * has made sure that the sign-in is recent and strong enough. A form that is sent twice within a minute is answered as the first.
 * @throws DomainError password.wrong, rate_limit.exceeded, password.breached, password.context_specific, validation.failed,
 * auth.invalid_credentials for a session that has ended meanwhile, identity.in_production for a first one by a sign-in for tests
 */
export function createOwnPassword({ db, passwords, rateLimits, now }: OwnPasswordDeps) {
  // By the Identity, and apart from those at sign-in, which strangers can use up: only who is signed in guesses here.
  const guesses = createGuesses<string>({
    db,
    enabled: rateLimits,
    now,
    burst: 'own-password-change',
    day: 'own-password-change-day',
    accountOf: (identityId) => identityId,
  });

  /** How the person is to go on: with the change, or not at all, as its form has been sent twice and was the first to be made. */
  async function prove(scope: EnvironmentScope, { hash, changedAt }: Proven, change: OwnPasswordChange) {
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

  /** False where the password was replaced while this went on, so that what was proved counts no more. */
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
      const { ssoConnectionId } = await holdSession(tx, { ...scope, identityId, sessionId });
      if (hash === null) await assertNotByTestProvider(tx, scope, identityId, ssoConnectionId);
      const [held] = await tx.query<Held[]>(readHeld, [accountId, identityId, environmentId]);
      if (held?.changedAt?.getTime() !== changedAt?.getTime()) return false;
      await settleNewPassword(
        tx,
        { ...scope, identityId, membershipId: held?.membershipId ?? null },
        { passwordHash, method: 'own', provesEmail: false, keepSessionId: sessionId, now: at },
      );
      return true;
    });
  }

  return async (scope: EnvironmentScope, change: OwnPasswordChange): Promise<void> => {
    // Replaced by somebody else, or by the same form: looking again tells which.
    if ((await attempt(scope, change)) || (await attempt(scope, change))) return;
    throw new DomainError('password.wrong');
  };
}

interface Proven {
  hash: string;
  changedAt: Date | null;
}

export type OwnPassword = ReturnType<typeof createOwnPassword>;
