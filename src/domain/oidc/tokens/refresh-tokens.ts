import type { EntityManager } from 'typeorm';
import { RefreshToken } from '../../../../entities/refresh-token.js';
import { after, type Clock, days, seconds } from '../../../platform/clock.js';
import { hashSecret, newSecret } from '../../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../../platform/crypto/sealing.js';
import type { Db, Statement } from '../../../platform/database/db.js';
import { recordEvent } from '../../events/record.js';

export type RefreshTokenKind = RefreshToken['kind'];

/** The state of a presented token: never used, used a moment ago, or spent for good. */
export type TokenStatus = 'fresh' | 'repeated' | 'reused';

export interface RefreshTokens {
  /** The first token of a family. */
  issue(tx: EntityManager, family: { kind: RefreshTokenKind; familyId: string; expiresAt: Date }): Promise<string>;
  /**
   * Exchanges a token of an administrator's session for its successor; `Grants.refresh` does the same for a client's.
   * Within ten seconds the same token gets the same successor, or whatever that was exchanged for since; later its
   * family is revoked, and it is refused. Null for a token that is not valid.
   */
  rotate(token: string): Promise<Rotated | null>;
  /** The token that is to follow a presented one. */
  successorOf(token: string): Successor;
  /** The token that replaced a spent one, or its latest successor, which is still to be used. */
  unspentAfter(token: string): Promise<string>;
  /** Ends the family that a spent token belongs to, with an event; once. */
  revokeFamily(kind: RefreshTokenKind, familyId: string): Promise<void>;
}

export interface Rotated {
  token: string;
  familyId: string;
  expiresAt: Date;
}

export interface Successor {
  token: string;
  hash: Buffer;
  keyId: string;
}

/** How long a spent token still gets its successor: for parallel tabs and lost answers (contract §2). */
export const repeatWindow = seconds(10);
/** Sliding lifetime where no Environment sets one, as for administrators. */
const slidingSeconds = days(30) / seconds(1);

interface FamilyOwner {
  actorId: string;
  accountId: string | null;
  applicationId: string | null;
  environmentId: string | null;
}

const families = {
  grant: {
    table: 'grants',
    owner: `identity_id as "actorId", account_id as "accountId", environment_id as "environmentId",
      (select application_id from environments where id = environment_id) as "applicationId"`,
    actor: 'identity',
  },
  user_session: {
    table: 'user_sessions',
    owner: `user_id as "actorId", account_id as "accountId", application_id as "applicationId", null as "environmentId"`,
    actor: 'platform_admin',
  },
} as const;

/**
 * The steps of rotating tokens, any number at once, as the beginning of a `with`. Values, all lists in one order: $1
 * hashes of the tokens, $2 now, $3 hashes of their successors, $4 the successors' key id, $5 the earliest moment of
 * spending that still counts as repeated, $6 for how many seconds each successor is good at most.
 *
 * The locks make parallel uses queue, always in one order, and a waiting one then sees what the first one wrote: so one
 * successor is inserted. Each token is read by its key, whatever the planner believes of the table when it plans once.
 * @param more further lists: their values, and the names of their columns
 */
export const presentedLocked = (kind: RefreshTokenKind, more = { values: '', columns: '' }) => `
asked as materialized (
  select * from unnest($1::bytea[], $3::bytea[], $6::integer[]${more.values})
    with ordinality as asked (token_hash, next_hash, lasts_seconds${more.columns}, position)
  order by token_hash
),
presented as materialized (
  select asked.*, t.family_id, t.created_at, t.expires_at, t.spent_at
  from asked cross join lateral (
    select * from refresh_tokens where token_hash = asked.token_hash and kind = '${kind}' offset 0 for update
  ) t
)`;
/** The `TokenStatus` of a token's row; `since` is the earliest moment of spending that still counts as repeated. */
export const status = (since: string) =>
  `case when spent_at is null then 'fresh' when spent_at >= ${since} then 'repeated' else 'reused' end`;
/** When the successor of a presented token expires at the latest. */
export const slidTo = `$2::timestamptz + interval '1 second' * p.lasts_seconds`;
/**
 * The time of spending is PostgreSQL's: a statement that lay unread while PostgreSQL was halted is executed after its
 * caller has given up, and the client's retry then has to be forgiven (docs/decisions/0061). More than a minute is not
 * a wait, but a difference of clocks.
 */
const spentAt = `case when clock_timestamp() between $2::timestamptz and $2::timestamptz + interval '1 minute'
    then clock_timestamp() else $2 end`;
/**
 * SQL that needs `alive`, from `presented p`, with its `position`, its `status` and `successor_expires_at`. The spent
 * tokens are written by their key like the new ones: with an `update` that joins, the planner would choose how to find
 * each row. A token that came twice at once is spent once.
 */
export const rotation = (kind: RefreshTokenKind) => `
fresh as (
  select distinct on (token_hash) * from presented join alive using (position) where status = 'fresh'
),
rotated as (
  insert into refresh_tokens (token_hash, kind, family_id, created_at, expires_at, spent_at, successor_hash, successor_key_id)
  select token_hash, '${kind}', family_id, created_at, expires_at, ${spentAt}, next_hash, $4 from fresh
  union all
  select next_hash, '${kind}', family_id, $2, successor_expires_at, null, null, null from fresh
  on conflict (token_hash) do update
    set spent_at = excluded.spent_at, successor_hash = excluded.successor_hash, successor_key_id = excluded.successor_key_id
)`;

const rotateStatement: Statement = {
  name: 'rotate_user_session',
  text: `
with ${presentedLocked('user_session')},
alive as (
  select p.position, ${status('$5::timestamptz')} as status,
    p.family_id as "familyId", least(${slidTo}, family.expires_at) as successor_expires_at
  from presented p join user_sessions family on family.id = p.family_id
  where p.expires_at > $2 and family.expires_at > $2 and family.revoked_at is null
), ${rotation('user_session')}
select "familyId", status, successor_expires_at as "expiresAt" from alive`,
};

/**
 * Reads the keys by which the successors of a spent token were derived, one after the other. Only requests that were
 * forgiven wait for it, and all successors of theirs were made within ten seconds.
 */
const chainStatement: Statement = {
  name: 'successors_of_refresh_token',
  text: `
with recursive chain as (
  select successor_hash, successor_key_id, 1 as place from refresh_tokens where token_hash = $1 and spent_at is not null
  union all
  select t.successor_hash, t.successor_key_id, place + 1
  from chain cross join lateral (select * from refresh_tokens where token_hash = chain.successor_hash offset 0) t
  where t.spent_at is not null
)
select successor_key_id as "keyId" from chain order by place`,
};

/** Refresh tokens of OAuth grants and of platform admins' sessions: one mechanism (contract §2, RFC 9700 §4.14). */
export function createRefreshTokens({ db, sealing, now }: { db: Db; sealing: Sealing; now: Clock }): RefreshTokens {
  // Derived and not random: a repeated request gets the very same token, and no second chain can begin.
  const successorOf = (token: string, keyId?: string): Successor => {
    const derived = sealing.derive('refresh-successor', token, keyId);
    const successor = derived.secret.toString('base64url');
    return { token: successor, hash: hashSecret(successor), keyId: derived.keyId };
  };

  async function unspentAfter(token: string): Promise<string> {
    const keys = await db.statement<{ keyId: string }>(chainStatement, [hashSecret(token)]);
    return keys.reduce((spent, { keyId }) => successorOf(spent, keyId).token, token);
  }

  async function revokeFamily(kind: RefreshTokenKind, familyId: string) {
    const { table, owner, actor } = families[kind];
    const reason = kind === 'grant' ? `, revoked_reason = 'refresh_reuse'` : '';
    await db.transaction('system', async (tx) => {
      const [rows] = await tx.query<[FamilyOwner[], number]>(
        `update ${table} set revoked_at = $2${reason} where id = $1 and revoked_at is null returning ${owner}`,
        [familyId, now()],
      );
      for (const { actorId, ...where } of rows) {
        const details = {
          ...where,
          resourceId: familyId,
          outcome: 'denied',
          actor: { type: actor, id: actorId },
        } as const;
        await recordEvent(tx, 'session.refresh_reuse_detected', details);
      }
    });
  }

  return {
    async issue(tx, { kind, familyId, expiresAt }) {
      const token = newSecret();
      await tx.insert(RefreshToken, { tokenHash: hashSecret(token), kind, familyId, createdAt: now(), expiresAt });
      return token;
    },
    async rotate(token) {
      const at = now();
      const successor = successorOf(token);
      const [row] = await db.statement<{ familyId: string; status: TokenStatus; expiresAt: Date }>(rotateStatement, [
        [hashSecret(token)],
        at,
        [successor.hash],
        successor.keyId,
        after(at, -repeatWindow),
        [slidingSeconds],
      ]);
      if (!row) return null;
      if (row.status === 'reused') {
        await revokeFamily('user_session', row.familyId);
        return null;
      }
      const next = row.status === 'repeated' ? await unspentAfter(token) : successor.token;
      return { token: next, familyId: row.familyId, expiresAt: row.expiresAt };
    },
    successorOf,
    unspentAfter,
    revokeFamily,
  };
}
