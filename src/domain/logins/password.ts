import { byPosition, createBatcher } from '../../platform/database/batching.js';
import type { Db } from '../../platform/database/db.js';
import { hashesRefused } from '../../platform/metrics/metrics.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import type { Passwords } from '../passwords/passwords.js';
import { verifyTyped } from '../passwords/verify-typed.js';
import type { Unverified } from '../sign-ups/resend.js';
import { addressTyped } from './address.js';
import type { Attempts } from './attempts.js';
import { entersWithPassword } from './password-entry.js';
import { recordSignInRefusal } from './refusals.js';

export interface PasswordSignIn {
  email: string;
  password: string;
  ipAddress: string;
}

/** When the password was set that was right, and the address with which its person was found. */
interface ProvedAsOf {
  passwordChangedAt: Date | null;
  email: string;
}

/** Who signed in, or why not. `refused` covers every reason that an outsider must not learn. */
export type PasswordResult =
  | ({ outcome: 'accepted'; identityId: string } & ProvedAsOf)
  | { outcome: 'refused' }
  /** Only for a person who knew the password (contract §10); with what it takes to send the mail again. */
  | ({ outcome: 'unverified' } & Unverified);

/**
 * The password was right, but the person is no member here, only in another Environment of the Account and of this
 * type.
 */
export interface SignedInElsewhere extends ProvedAsOf {
  outcome: 'elsewhere';
  identityId: string;
}

export interface PasswordLoginDeps {
  db: Db;
  passwords: Pick<Passwords, 'verify' | 'needsRehash' | 'hash' | 'isFull'>;
  attempts: Attempts;
  /** Told when a password could not be rehashed; the person is signed in all the same. */
  onRehashError: (error: unknown) => void;
}

interface Row {
  identityId: string;
  passwordHash: string | null;
  /** The link that holds the password until the address is confirmed, for somebody who signed up. */
  linkId: string | null;
  passwordChangedAt: Date | null;
  isVerified: boolean;
  isActive: boolean;
  /** Both only for a sign-in anywhere in the Account. */
  isMember?: boolean;
  isElsewhere?: boolean;
}

type FoundRow = Row & { position: number };
type Find = (scope: EnvironmentScope, email: string) => Promise<Row | undefined>;

/**
 * For a person who has not confirmed their address: the password that was chosen last, unless its link was used or
 * another address or a removal has made it void. It proves nothing, but lets them request the mail again.
 */
const parked = `
  left join lateral (select id, password_hash from identity_links
    where i.email_verified_at is null and i.password_hash is null and identity_id = i.id and environment_id = $2
      and purpose = 'verify_email' and password_hash is not null and used_at is null
      and exists (select from oauth_clients where id = oauth_client_id)
    order by created_at desc, id desc limit 1) parked on true`;
const passwordColumns = `coalesce(i.password_hash, parked.password_hash) as "passwordHash", parked.id as "linkId",
  date_trunc('milliseconds', i.password_changed_at) as "passwordChangedAt"`;

/** Somebody who is no member here is not named in this Environment's log. */
const isKnown = ({ isMember }: Row): boolean => isMember !== false;

// Each address is looked up once, and first, whatever the planner believes about table sizes (docs/decisions/0005).
const findStatement = {
  name: 'find_identities_for_sign_in',
  text: `
select asked.position::int as position, i.id as "identityId", ${passwordColumns}, i.email_verified_at is not null as "isVerified",
  m.is_active as "isActive"
from unnest($3::citext[]) with ordinality as asked (email, position)
  cross join lateral (select * from identities where (account_id = $1) is true and id = (select gatehouse_identity_id($1, asked.email)) offset 0) i
  cross join lateral (select is_active from environment_memberships where environment_id = $2 and identity_id = i.id offset 0) m${parked}`,
};
/** Finds the person of an address, even one who is no member here and may choose another Environment. */
const findAnywhereStatement = {
  name: 'find_identity_for_sign_in_anywhere',
  text: `
select i.id as "identityId", ${passwordColumns}, i.email_verified_at is not null as "isVerified",
  coalesce(m.is_active, false) as "isActive", m.is_active is not null as "isMember",
  exists (select from environment_memberships membership
    join environments there on there.id = membership.environment_id
    join environment_settings there_settings on there_settings.environment_id = there.id
    join environments here on here.id = $2
    join environment_settings here_settings on here_settings.environment_id = here.id
    where membership.identity_id = i.id and there.account_id = $1 and there.id <> here.id and ${entersWithPassword}) as "isElsewhere"
from identities i
  left join lateral (select is_active from environment_memberships where environment_id = $2 and identity_id = i.id offset 0) m on true${parked}
where (i.account_id = $1) is true and i.id = (select gatehouse_identity_id($1, $3::citext))`,
};

/** Sign-in of an end user with a password: the same answer after the same work, whatever was wrong (contract §4). */
export function createPasswordLogin({ db, passwords, attempts, onRehashError }: PasswordLoginDeps) {
  /** Hashes the password again if parameters have become stronger; nobody waits for that. */
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

  function assertRoom(accountId?: string): void {
    if (!passwords.isFull(accountId)) return;
    hashesRefused.inc();
    throw new DomainError('service.unavailable', { retryAfter: 1 });
  }

  const findTogether = createBatcher<EnvironmentScope & { email: string }, FoundRow | undefined>(
    async (_environmentId, asked) => {
      const { accountId, environmentId } = asked[0] as EnvironmentScope;
      const emails = asked.map(({ email }) => email);
      return byPosition(asked, await db.statement<FoundRow>(findStatement, [accountId, environmentId, emails]));
    },
  );
  const find: Find = async (scope, email) => (await findTogether(scope.environmentId, [{ ...scope, email }]))[0];
  const findAnywhere: Find = async ({ accountId, environmentId }, email) =>
    (await db.statement<Row>(findAnywhereStatement, [accountId, environmentId, email]))[0];

  async function prove(
    find: Find,
    scope: EnvironmentScope,
    { email: typed, password, ipAddress }: PasswordSignIn,
  ): Promise<PasswordResult | SignedInElsewhere> {
    assertRoom(scope.accountId); // before the attempt is counted, so that it need not be taken back
    const email = addressTyped(typed);
    const attempt = await attempts.begin({ accountId: scope.accountId, email, ipAddress });
    const { found, matches } = await attempts.look(attempt, async () => {
      const row = await find(scope, email);
      const mayTry = (row?.isActive || row?.isElsewhere) === true;
      const isRight = await verifyTyped(passwords, mayTry ? row.passwordHash : null, password, scope.accountId);
      return { found: row, matches: mayTry && isRight };
    });
    if (!found || !matches) {
      await attempts.failed(scope, attempt, {
        identityId: found && isKnown(found) ? found.identityId : null,
        method: 'password',
      });
      return { outcome: 'refused' };
    }
    const { identityId, linkId, isActive, passwordChangedAt } = found;
    const asOf = { passwordChangedAt, email };
    // Anybody could have signed up with the address: the password of that sign-up proves nothing, and does not clear
    // the wrong guesses at the real one.
    await (linkId === null ? attempts.succeeded(attempt) : attempts.withdrawn(attempt));
    if (!found.isVerified) {
      const reason = 'identity.email_unverified';
      if (isKnown(found)) await recordSignInRefusal(db, scope, { identityId, method: 'password', reason });
      return { outcome: 'unverified', identityId, linkId };
    }
    rehash(scope, found, password).catch(onRehashError);
    return { outcome: isActive ? 'accepted' : 'elsewhere', identityId, ...asOf };
  }

  return {
    /**
     * For callers with much to check before the password, and before the Account is known.
     * @throws DomainError service.unavailable where too many passwords wait to be hashed
     */
    assertRoom,
    /** @throws DomainError rate_limit.exceeded, service.unavailable */
    signIn: (scope: EnvironmentScope, attempt: PasswordSignIn) =>
      prove(find, scope, attempt) as Promise<PasswordResult>,
    /**
     * Verifies a password as `signIn` does, and also accepts people who could choose another Environment.
     * @throws DomainError rate_limit.exceeded
     */
    signInAnywhere: (scope: EnvironmentScope, attempt: PasswordSignIn) => prove(findAnywhere, scope, attempt),
  };
}

export type PasswordLogin = ReturnType<typeof createPasswordLogin>;
