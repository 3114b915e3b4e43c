import type { Db, EnvironmentScope } from '../../platform/db.js';
import { recordEvent } from '../events.js';
import type { Passwords } from '../passwords/passwords.js';
import type { Attempts } from './attempts.js';

export interface PasswordSignIn {
  email: string;
  password: string;
  ipAddress: string;
}

/** Who signed in, or why not. Every reason that an outsider must not learn is `refused`. */
export type PasswordResult =
  | { outcome: 'accepted'; identityId: string }
  | { outcome: 'refused' }
  /** Said only to somebody who knew the password (contract §10). */
  | { outcome: 'unverified' };

export interface PasswordLoginDeps {
  db: Db;
  passwords: Pick<Passwords, 'verify' | 'needsRehash' | 'hash'>;
  attempts: Attempts;
  /** Told when a password could not be rehashed; the person is signed in all the same. */
  onRehashError: (error: unknown) => void;
}

/** More than any password that can be set, in UTF-16 units; normalizing a megabyte would hold up everyone else. */
const longestPassword = 1024;

/** What no identity can have, nor PostgreSQL hold, is looked up as nobody's: refused like any other, after the same work. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const isAddress = (email: string) => email.length <= 320 && !/[\x00-\x1f\x7f]/.test(email);

interface Row {
  identityId: string;
  passwordHash: string | null;
  isVerified: boolean;
  isActive: boolean;
}

// The address is looked up once and first, whatever the planner believes of the tables' sizes (docs/decisions/0005).
const findStatement = {
  name: 'find_identity_for_sign_in',
  text: `
select i.id as "identityId", i.password_hash as "passwordHash", i.email_verified_at is not null as "isVerified",
  m.is_active as "isActive"
from identities i
  cross join lateral (select is_active from environment_memberships where environment_id = $2 and identity_id = i.id offset 0) m
where i.account_id = $1 and i.id = (select gatehouse_identity_id($1, $3::citext))`,
};

/** Sign-in of an end user with a password: the same answer after the same work, whatever was wrong (contract §4). */
export function createPasswordLogin({ db, passwords, attempts, onRehashError }: PasswordLoginDeps) {
  /** Stronger parameters reach everyone at their next sign-in, and nobody waits for them. */
  async function rehash(scope: EnvironmentScope, { identityId, passwordHash }: Row, password: string) {
    if (passwordHash === null || !passwords.needsRehash(passwordHash)) return;
    const stronger = await passwords.hash(password);
    await db.transaction({ accountId: scope.accountId }, (tx) =>
      tx.query(`update identities set password_hash = $3 where account_id = $1 and id = $2 and password_hash = $4`, [
        scope.accountId,
        identityId,
        stronger,
        passwordHash,
      ]),
    );
  }

  async function recordFailure(scope: EnvironmentScope, identityId: string | null) {
    await db.transaction(scope, (tx) =>
      recordEvent(tx, 'auth.identity_sign_in_failed', {
        ...scope,
        resourceId: identityId,
        outcome: 'failure',
        metadata: { method: 'password' },
      }),
    );
  }

  return {
    /** @throws DomainError rate_limit.exceeded */
    async signIn(
      scope: EnvironmentScope,
      { email: typed, password, ipAddress }: PasswordSignIn,
    ): Promise<PasswordResult> {
      const email = isAddress(typed) ? typed : '';
      const attempt = { environmentId: scope.environmentId, email, ipAddress };
      await attempts.begin(attempt);
      const [found] = await db.statement<Row>(findStatement, [scope.accountId, scope.environmentId, email]);
      const mayTry = found?.isActive === true && password.length <= longestPassword;
      const matches = await passwords.verify(mayTry ? found.passwordHash : null, password.slice(0, longestPassword));
      if (!mayTry || !matches) {
        await recordFailure(scope, found?.identityId ?? null);
        return { outcome: 'refused' };
      }
      await attempts.succeeded(attempt);
      if (!found.isVerified) return { outcome: 'unverified' };
      rehash(scope, found, password).catch(onRehashError);
      return { outcome: 'accepted', identityId: found.identityId };
    },
  };
}

export type PasswordLogin = ReturnType<typeof createPasswordLogin>;
