import { after, type Clock, minutes } from '../../platform/clock.js';
import { openSealedJson } from '../../platform/crypto/sealed-json.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { dbWithin } from '../../platform/database/db-within.js';
import { createLimiter } from '../../platform/limiter.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { recordEvent } from '../events/record.js';
import { countUse, givingBack } from '../limits/rate-limits.js';
import { looksLikeRecoveryCode } from '../mfa/codes/recovery-code-form.js';
import { type CodeHashing, createRecoveryCodeHashes, type StoredCode } from '../mfa/codes/recovery-code-hashes.js';
import { sentTwiceWithin } from '../one-time/sent-twice.js';
import { isSpent, spend } from '../one-time/spent-tokens.js';
import { organizationsOf } from '../organizations/belonging.js';
import type { OfferedConnection } from '../organizations/sign-in-policy.js';
import type { FirstFactor } from '../sessions/first-factor.js';
import { environmentConnection } from '../sso-connections/of-environment.js';

const context = 'sso-recovery';
const life = minutes(10);
const tries = { name: 'sso-recovery', points: 10, windowSeconds: minutes(15) / 1000 };

/** The sign-in for which a code is offered, and no other: `bound` is the part of its request that must not change. */
export interface RecoveredSignIn {
  scope: EnvironmentScope;
  bound: string;
}

/** What a person has proved, and the providers that are required as well. */
export interface Offer {
  first: FirstFactor;
  connections: OfferedConnection[];
}
interface SealedOffer extends Offer {
  environmentId: string;
  /** As `RecoveredSignIn` has it. */
  bound: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}
export interface TypedRecoveryCode {
  /** What `offer` gave out. */
  token: string;
  code: string;
  /** Identifies the browser that sends it; null for one without a cookie, and for a script. */
  browser: string | null;
}
export type Redeemed = { isRight: true; first: FirstFactor } | { isRight: false; offer: Offer };

export interface SsoRecoveryDeps {
  db: Db;
  sealing: Pick<Sealing, 'seal' | 'open'>;
  passwords: CodeHashing;
  rateLimits: boolean;
  now: Clock;
}

export type SsoRecovery = ReturnType<typeof createSsoRecovery>;

/** The connection that an organization which requires SSO wants for its members: its own, or one of the Environment. */
const wanted = `coalesce((select id from sso_connections where organization_id = o.id),
  (select id from (${environmentConnection('$2', '$3')}) one))`;

const organizations = `(select o.id, ${wanted} as connection_id from ${organizationsOf('$2', '$3')}
    and ((o.authentication_policy->>'require_sso')::boolean or o.authentication_policy->'allowed_methods' = '["sso"]')) mine`;
const known = `c.account_id = $1 and c.environment_id = $2 and c.organization_id = mine.id and mine.connection_id is not null`;

const knownText = `
select c.id, c.code_hash as "codeHash", c.hash_parameters as "hashParameters", mine.connection_id as "connectionId"
from ${organizations} join sso_recovery_codes c on ${known} and (c.used_at is null or c.used_at > $4)`;
const redeemText = `
update sso_recovery_codes c set used_at = $5 from ${organizations} where ${known} and c.used_at is null and c.id = $4
returning c.organization_id as "organizationId", mine.connection_id as "connectionId"`;

/** A code that is unused, or was used within the last minute. */
interface KnownCode extends StoredCode {
  id: string;
  connectionId: string;
}

/**
 * Recovery codes of an organization whose provider is down: a member who has proved who they are in another way signs
 * in with a code as if by its connection, for the one session that begins by it.
 */
export function createSsoRecovery({ db, sealing, passwords, rateLimits, now }: SsoRecoveryDeps) {
  const hashes = createRecoveryCodeHashes(passwords);
  const limiter = rateLimits ? createLimiter(db, tries) : null;

  /**
   * Counts a try before the code is checked, so that parallel guesses cannot slip through.
   * @throws DomainError rate_limit.exceeded
   */
  const count = (identityId: string): Promise<void> => countUse(limiter, identityId);

  function opened(token: string, { scope, bound }: RecoveredSignIn): Offer | null {
    const offer = openSealedJson<SealedOffer>(sealing, token, context);
    const isOfIt = offer?.environmentId === scope.environmentId && offer.bound === bound;
    if (!isOfIt || offer.expiresAt <= now().getTime()) return null;
    return { first: withDates(offer.first), connections: offer.connections };
  }

  /** The code that was typed, of any organization of the person; null if none is right. */
  async function codeOf(scope: EnvironmentScope, identityId: string, code: string): Promise<KnownCode | null> {
    if (!looksLikeRecoveryCode(code)) return null;
    const values = [scope.accountId, scope.environmentId, identityId, after(now(), -sentTwiceWithin)];
    const codes = await db.transaction(scope, (tx) => tx.query<KnownCode[]>(knownText, values));
    return hashes.find(codes, code);
  }

  return {
    /** Returns a token for what a person has proved, valid for ten minutes: the page sends it back with a code. */
    offer({ scope: { environmentId }, bound }: RecoveredSignIn, offer: Offer): string {
      const expiresAt = after(now(), life).getTime();
      return sealing.seal(JSON.stringify({ ...offer, environmentId, bound, expiresAt }), context);
    },

    /**
     * Spends a code of an organization of the person that requires SSO. The same form in the same browser is accepted
     * once more within a minute.
     * @returns what was proved, as if by the connection; for a wrong or spent code the offer; and null for an offer
     *   that is over, or of another sign-in
     * @throws DomainError rate_limit.exceeded
     */
    async redeem(signIn: RecoveredSignIn, { token, code, browser }: TypedRecoveryCode): Promise<Redeemed | null> {
      const offer = opened(token, signIn);
      if (!offer) return null;
      const { first } = offer;
      const { identityId, method } = first;
      const { scope } = signIn;
      await count(identityId);
      const actor = { type: 'identity', id: identityId } as const;
      const giveBack = async () => limiter?.giveBack(identityId);
      // Before the transaction, since it takes a slow hash.
      const found = await givingBack(() => codeOf(scope, identityId, code), giveBack);
      const form = found && browser !== null ? [browser, token, found.id].join('\n') : null;
      // In the system's scope, to which the marks of used forms belong.
      const settle = () =>
        db.transaction('system', async (tx) => {
          const at = now();
          const values = [scope.accountId, scope.environmentId, identityId, found?.id, at];
          const [rows] = found
            ? await tx.query<[{ organizationId: string; connectionId: string }[], number]>(redeemText, values)
            : [[]];
          const [row] = rows;
          const event = { ...scope, resourceId: identityId, actor };
          if (row) {
            if (form) await spend(dbWithin(tx), form, after(at, sentTwiceWithin));
            const metadata = { organization_id: row.organizationId, connection_id: row.connectionId };
            await recordEvent(tx, 'auth.sso_recovery_code_used', { ...event, metadata });
            return row;
          }
          if (form && (await isSpent(dbWithin(tx), form, at))) return found; // recorded already
          const metadata = { method, reason: 'sso_recovery_code_wrong' };
          await recordEvent(tx, 'auth.identity_sign_in_failed', { ...event, outcome: 'failure', metadata });
          return null;
        });
      const spent = await givingBack(settle, giveBack);
      if (!spent) return { isRight: false, offer };
      await giveBack();
      return { isRight: true, first: { ...first, ssoConnectionId: spent.connectionId } };
    },
  };
}

function withDates(first: FirstFactor): FirstFactor {
  const date = (text: unknown) => (typeof text === 'string' ? new Date(text) : null);
  const { authTime, passwordChangedAt } = first;
  return {
    ...first,
    authenticatedAt: new Date(first.authenticatedAt),
    secondFactorAt: date(first.secondFactorAt),
    ownFactorAt: date(first.ownFactorAt),
    ...(authTime !== undefined && { authTime: date(authTime) }),
    ...(passwordChangedAt !== undefined && { passwordChangedAt: date(passwordChangedAt) }),
  };
}
