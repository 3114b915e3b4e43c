import type { EntityManager } from 'typeorm';
import { RefreshToken } from '../../../entities/refresh-token.js';
import { after, type Clock, days, seconds } from '../../platform/clock.js';
import { hashSecret, newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db, Statement } from '../../platform/db.js';
import { recordEvent } from '../events.js';

export type RefreshTokenKind = RefreshToken['kind'];

/** How a presented token stands: never used, used a moment ago, or spent for good. */
export type Standing = 'fresh' | 'repeated' | 'reused';

export interface RefreshTokens {
  /** The first token of a family. */
  issue(tx: EntityManager, family: { kind: RefreshTokenKind; familyId: string; expiresAt: Date }): Promise<string>;
  /**
   * Spends a token for its successor. The same token within ten seconds answers the same successor; later its family is
   * revoked, and it is refused. Null for whatever is not alive.
   */
  rotate(token: string, kind: RefreshTokenKind): Promise<Rotated | null>;
  /** The token that follows a presented one; of a spent one, by the key that was used then. */
  successorOf(token: string, keyId?: string): Successor;
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

/** How long a spent token still answers its successor: for parallel tabs and lost answers (contract §2). */
export const repeatWindow = seconds(10);
/** Sliding life where no Environment sets one, as for platform admins. */
const slidingLife = days(30);

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
 * The steps of a rotation, as the beginning of a `with`. Values: $1 hash of the token, $2 now, $3 hash of its successor,
 * $4 the successor's key id, $5 the earliest moment of spending that still counts as repeated.
 *
 * The lock makes parallel uses queue, and a waiting one then sees what the first one wrote: so one successor is inserted.
 */
export const presentedLocked = (kind: RefreshTokenKind) => `
presented as materialized (
  select token_hash, family_id, expires_at, spent_at, successor_key_id from refresh_tokens
  where token_hash = $1 and kind = '${kind}' for update
)`;
/** The `Standing` of a token's row; `since` is the earliest moment of spending that still counts as repeated. */
export const standing = (since: string) =>
  `case when spent_at is null then 'fresh' when spent_at >= ${since} then 'repeated' else 'reused' end`;
/** `alive`, from `presented`, has its `standing` and `successor_expires_at`. */
export const rotation = (kind: RefreshTokenKind) => `
spent as (
  update refresh_tokens set spent_at = $2, successor_hash = $3, successor_key_id = $4
  from alive where refresh_tokens.token_hash = $1 and alive.standing = 'fresh'
),
succeeded as (
  insert into refresh_tokens (token_hash, kind, family_id, created_at, expires_at)
  select $3, '${kind}', family_id, $2, successor_expires_at from alive where standing = 'fresh'
)`;

const rotateStatement = (kind: RefreshTokenKind): Statement => ({
  name: `rotate_${kind}`,
  text: `
with ${presentedLocked(kind)},
alive as (
  select family_id, successor_key_id, ${standing('$5::timestamptz')} as standing, least($6::timestamptz, family.expires_at) as successor_expires_at
  from presented join ${families[kind].table} family on family.id = family_id
  where presented.expires_at > $2::timestamptz and family.expires_at > $2 and family.revoked_at is null
), ${rotation(kind)}
select family_id as "familyId", successor_key_id as "keyId", standing, successor_expires_at as "expiresAt" from alive`,
});
const rotateStatements = { grant: rotateStatement('grant'), user_session: rotateStatement('user_session') };

/** Refresh tokens of OAuth grants and of platform admins' sessions: one mechanism (contract §2, RFC 9700 §4.14). */
export function createRefreshTokens({ db, sealing, now }: { db: Db; sealing: Sealing; now: Clock }): RefreshTokens {
  // Derived and not drawn: whoever repeats the request is answered the very same token, and no second chain can start.
  const successorOf = (token: string, keyId?: string): Successor => {
    const derived = sealing.derive('refresh-successor', token, keyId);
    const successor = derived.secret.toString('base64url');
    return { token: successor, hash: hashSecret(successor), keyId: derived.keyId };
  };

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
    async rotate(token, kind) {
      const at = now();
      const successor = successorOf(token);
      const [row] = await db.statement<{ familyId: string; keyId: string | null; standing: Standing; expiresAt: Date }>(
        rotateStatements[kind],
        [hashSecret(token), at, successor.hash, successor.keyId, after(at, -repeatWindow), after(at, slidingLife)],
      );
      if (!row) return null;
      if (row.standing === 'reused') {
        await revokeFamily(kind, row.familyId);
        return null;
      }
      const { token: next } = row.keyId ? successorOf(token, row.keyId) : successor;
      return { token: next, familyId: row.familyId, expiresAt: row.expiresAt };
    },
    successorOf,
    revokeFamily,
  };
}
