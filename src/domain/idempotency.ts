import { createHash } from 'node:crypto';
import { minutes, seconds } from '../platform/clock.js';
import { currentContext } from '../platform/context.js';
import { equalInConstantTime } from '../platform/crypto/one-time-secret.js';
import type { Sealing } from '../platform/crypto/sealing.js';
import type { Db } from '../platform/database/db.js';
import { DomainError } from './errors.js';

export interface StoredAnswer {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
  /** The answer's `set-cookie` lines; sealed like the body. */
  cookies?: string[];
}
export interface ClaimKey {
  credential: string;
  key: string;
}

/**
 * A key that a request has claimed. Nobody else can claim it until `lockedUntil`, a moment that also identifies the
 * claim.
 */
export type Claimed = ClaimKey & { lockedUntil: Date };

/** A request with its key. */
export type SentRequest = ClaimKey & {
  /**
   * Everything that identifies the request: another text is another request. It may contain a password, so it is never
   * stored under a fast hash.
   */
  text: string;
  /**
   * The same text as it was sent. The previous release recognizes a retry by this alone, and may receive it while both
   * releases are running.
   */
  textAsSent: string;
};

export interface IdempotentRequests {
  /**
   * Claims the key for a request, or returns the stored answer to the same request.
   * @param request `isRepeatable`: doing it twice changes nothing more, so it may be done again after a crash
   * @throws DomainError idempotency.key_reused, idempotency.in_progress, idempotency.answer_lost
   */
  claim(
    request: SentRequest & { isRepeatable: boolean },
  ): Promise<{ earlier: StoredAnswer } | { earlier: null; lockedUntil: Date }>;
  /** Whether this credential has used the key recently, for any request. */
  isKnown(claim: ClaimKey): Promise<boolean>;
  /**
   * The stored answer of the same request; null if this credential has sent none with this key.
   * @throws DomainError idempotency.in_progress
   */
  find(request: SentRequest): Promise<StoredAnswer | null>;
  /** Stores the answer, unless another request has claimed the key since, because this one took too long. */
  settle(claim: Claimed, answer: StoredAnswer): Promise<void>;
  /** Frees the key, under the same condition. */
  release(claim: Claimed): Promise<void>;
}

/** The place, in the stored headers of an unanswered request, of its correlation id. */
const requestId = 'request-id';

/** SQL: only the caller's own events, since a request chooses its id itself, and may choose that of another caller. */
const doneBy = (actorType: string, actorId: string) =>
  `outcome = 'success' and actor_type = ${actorType}::text and actor_id is not distinct from ${actorId}::text`;

// An existing row is taken over after its expiry, or if its first request died without an answer. Such a request has
// recorded events for everything it changed, in the same transaction; if there are any, only the same request is done
// again, if it is repeatable: $6 is then the claim that it has read. The time is PostgreSQL's, in milliseconds as the
// driver reads it: an api whose clock is ahead would take over the key of a request that another api is still working
// on.
const claimStatement = {
  name: 'claim_idempotent_request',
  text: `
with now as materialized (select date_trunc('milliseconds', clock_timestamp()) as at),
claimed as (
  insert into idempotent_requests as stored (credential, key, request_hash, locked_until, expires_at, headers, request_key_id,
    canonical_hash)
  select $1, $2, $3, at + $4 * interval '1 ms', at + interval '24 hours', jsonb_build_object('${requestId}', $5::text), $9, $10
  from now
  on conflict (credential, key) do update
    set request_hash = excluded.request_hash, canonical_hash = excluded.canonical_hash, request_key_id = excluded.request_key_id,
      locked_until = excluded.locked_until, expires_at = excluded.expires_at, headers = excluded.headers,
      status_code = null, body_sealed = null
    where stored.expires_at <= (select at from now)
      or (stored.status_code is null and stored.locked_until <= (select at from now)
        and (stored.locked_until = $6::timestamptz or not exists (
          select from events where correlation_id = (stored.headers ->> '${requestId}')::uuid and ${doneBy('$7', '$8')})))
  returning locked_until
)
select at, (select locked_until from claimed) as "lockedUntil" from now`,
};
const doneStatement = {
  name: 'find_what_an_idempotent_request_did',
  text: `select action, resource_type as "resourceType", resource_id as "resourceId" from events
where correlation_id = $1 and ${doneBy('$2', '$3')} order by created_at, id limit 20`,
};
const readStatement = {
  name: 'read_idempotent_request',
  text: `select request_hash, canonical_hash, request_key_id, status_code, headers, body_sealed, locked_until from idempotent_requests
where credential = $1 and key = $2`,
};
const findStatement = {
  name: 'find_idempotent_request',
  text: `${readStatement.text} and expires_at > clock_timestamp() and (status_code is not null or locked_until > clock_timestamp())`,
};
const stillClaimed = 'credential = $1 and key = $2 and locked_until = $3 and status_code is null';
const settleStatement = {
  name: 'settle_idempotent_request',
  text: `update idempotent_requests set status_code = $4, headers = $5, body_sealed = $6 where ${stillClaimed}`,
};
const releaseStatement = {
  name: 'release_idempotent_request',
  text: `delete from idempotent_requests where ${stillClaimed}`,
};

interface Row {
  request_hash: Buffer;
  canonical_hash: Buffer | null;
  request_key_id: string | null;
  status_code: number | null;
  headers: Record<string, string> | null;
  body_sealed: string | null;
  locked_until: Date;
}

/** The place of the cookies in the stored headers. */
const sealedCookies = 'sealed-cookies';

/** Returns the sender of the request; a retry has the same one, since keys are stored by credential. */
function currentActor(): [string, string | null] {
  const { actor } = currentContext();
  return [actor.type, actor.id];
}

export function createIdempotentRequests({
  db,
  sealing,
  requestMs = seconds(25),
}: {
  db: Db;
  sealing: Sealing;
  /** How long a request may take. */
  requestMs?: number;
}): IdempotentRequests {
  // Longer than a request and its effects in PostgreSQL can last (docs/decisions/0061).
  const lockMs = Math.max(minutes(1), 2.4 * requestMs);
  // Answers may hold a secret that is shown once, so all of them are sealed.
  const context = ({ credential, key }: ClaimKey) => `idempotent-request/${credential}/${key}`;
  const cookieContext = (claim: ClaimKey) => `${context(claim)}/cookies`;
  const hash = (claim: ClaimKey, text: string, keyId?: string) =>
    sealing.derive('idempotent-request', `${context(claim)}\n${text}`, keyId);

  /** Includes the other hash, so that it is void once the previous release has claimed the row for another request. */
  const canonicalHash = (request: SentRequest, asSent: Buffer, keyId?: string) =>
    hash(request, `${request.text}\n${asSent.toString('hex')}`, keyId).secret;

  /** Uses the master key of the first request: a retry is recognized even if another key has become the first. */
  function isOf(request: SentRequest, { request_hash, canonical_hash, request_key_id: keyId }: Row): boolean {
    // A row of an earlier release, which used no key.
    if (keyId === null)
      return equalInConstantTime(createHash('sha256').update(request.textAsSent).digest(), request_hash);
    return (
      equalInConstantTime(hash(request, request.textAsSent, keyId).secret, request_hash) ||
      (canonical_hash !== null && equalInConstantTime(canonicalHash(request, request_hash, keyId), canonical_hash))
    );
  }

  function open(claim: ClaimKey, { status_code, headers: stored, body_sealed }: Row): StoredAnswer {
    if (status_code === null) throw new DomainError('idempotency.in_progress', { retryAfter: 1 });
    const { [sealedCookies]: cookies, ...headers } = stored ?? {};
    return {
      statusCode: status_code,
      headers,
      body: body_sealed === null ? '' : sealing.open(body_sealed, context(claim)),
      ...(cookies && { cookies: JSON.parse(sealing.open(cookies, cookieContext(claim))) }),
    };
  }

  /**
   * Claims a key that is free.
   * @param repeated the claim of a dead request, which is done again because this is the same one, and repeatable
   * @returns the time, and `lockedUntil` null if the key is not free
   */
  async function take(request: SentRequest, repeated: Date | null = null) {
    const hashed = hash(request, request.textAsSent);
    const [taken] = await db.statement<{ at: Date; lockedUntil: Date | null }>(claimStatement, [
      request.credential,
      request.key,
      hashed.secret,
      lockMs,
      currentContext().correlationId,
      repeated,
      ...currentActor(),
      hashed.keyId,
      canonicalHash(request, hashed.secret, hashed.keyId),
    ]);
    return taken!; // one row, always
  }

  /** Returns the refusal of a request that changed something and died before its answer was stored, with its events. */
  async function answerLost({ headers }: Row): Promise<DomainError> {
    const done = await db.statement<{ action: string; resourceType: string; resourceId: string | null }>(
      doneStatement,
      [headers?.[requestId] ?? null, ...currentActor()],
    );
    const details = done.map(({ action, resourceType, resourceId }) => ({
      field: resourceType,
      code: action,
      message: resourceId ?? '',
    }));
    return new DomainError('idempotency.answer_lost', { details });
  }

  return {
    async claim({ isRepeatable, ...request }) {
      const { credential, key } = request;
      const { at, lockedUntil } = await take(request);
      if (lockedUntil) return { earlier: null, lockedUntil };
      const [row] = await db.statement<Row>(readStatement, [credential, key]);
      if (!row) throw new DomainError('idempotency.in_progress', { retryAfter: 1 }); // released a moment ago
      if (!isOf(request, row)) throw new DomainError('idempotency.key_reused');
      const hasDied = row.status_code === null && row.locked_until <= at;
      if (!hasDied) return { earlier: open({ credential, key }, row) };
      if (!isRepeatable) throw await answerLost(row);
      const again = await take(request, row.locked_until);
      if (!again.lockedUntil) throw new DomainError('idempotency.in_progress', { retryAfter: 1 }); // by another retry
      return { earlier: null, lockedUntil: again.lockedUntil };
    },
    async isKnown({ credential, key }) {
      return (await db.statement(findStatement, [credential, key])).length > 0;
    },
    async find(request) {
      const [row] = await db.statement<Row>(findStatement, [request.credential, request.key]);
      return row && isOf(request, row) ? open(request, row) : null;
    },
    async settle(claim, { statusCode, headers, body, cookies = [] }) {
      const sealed = body === '' ? null : sealing.seal(body, context(claim));
      const stored =
        cookies.length === 0
          ? headers
          : { ...headers, [sealedCookies]: sealing.seal(JSON.stringify(cookies), cookieContext(claim)) };
      const { credential, key, lockedUntil } = claim;
      await db.statement(settleStatement, [credential, key, lockedUntil, statusCode, stored, sealed]);
    },
    async release({ credential, key, lockedUntil }) {
      await db.statement(releaseStatement, [credential, key, lockedUntil]);
    },
  };
}
