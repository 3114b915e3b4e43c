import type { Clock } from '../../platform/clock.js';
import type { Db, EnvironmentScope } from '../../platform/db.js';
import { assertNotByTestProvider } from '../access/production-people.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events.js';
import { createGuesses } from '../guesses.js';
import { environmentRule } from '../passwords/context-rows.js';
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
 * has made sure that the sign-in is recent and strong enough.
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

  async function prove(scope: EnvironmentScope, identityId: string, hash: string, currentPassword: string) {
    await guesses.begin(identityId);
    const matches = await guesses.look(identityId, () => verifyTyped(passwords, hash, currentPassword));
    if (matches) return guesses.succeeded(identityId);
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

  return async (scope: EnvironmentScope, change: OwnPasswordChange): Promise<void> => {
    const { identityId, sessionId, currentPassword, newPassword } = change;
    const { accountId, environmentId } = scope;
    const [before] = await db.statement<{ hash: string | null; changedAt: Date | null }>(readHash, [
      accountId,
      identityId,
    ]);
    const hash = before?.hash ?? null;
    if (hash !== null) await prove(scope, identityId, hash, currentPassword);
    const rule = await db.transaction(scope, (tx) => environmentRule(tx, scope, identityId));
    await passwords.assertAcceptable(newPassword, { ...rule, field: 'new_password' });
    const passwordHash = await passwords.hash(newPassword);
    // The person has one password in the Account, and sessions in any of its Environments.
    await db.transaction({ accountId }, async (tx) => {
      const at = now();
      const { ssoConnectionId } = await holdSession(tx, { ...scope, identityId, sessionId });
      if (hash === null) await assertNotByTestProvider(tx, scope, identityId, ssoConnectionId);
      const [held] = await tx.query<Held[]>(readHeld, [accountId, identityId, environmentId]);
      // What was proved may have been replaced meanwhile.
      if (held?.changedAt?.getTime() !== before?.changedAt?.getTime()) throw new DomainError('password.wrong');
      await settleNewPassword(
        tx,
        { ...scope, identityId, membershipId: held?.membershipId ?? null },
        { passwordHash, method: 'own', provesEmail: false, keepSessionId: sessionId, now: at },
      );
    });
  };
}

export type OwnPassword = ReturnType<typeof createOwnPassword>;
