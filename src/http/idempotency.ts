import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../domain/errors.js';
import type { IdempotentRequests } from '../domain/idempotency.js';

const kept = ['content-type', 'etag', 'location'];

/**
 * `Idempotency-Key` on a write: the first answer is kept 24 hours for this credential and given again for the same request
 * (contract §1). Runs when the caller is known and the request is valid, so that refused requests leave the key free.
 * @returns true when the answer was already sent.
 */
export async function replayOrClaim(
  requests: IdempotentRequests,
  credential: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  const key = request.headers['idempotency-key'];
  if (key === undefined || request.method === 'GET' || request.method === 'HEAD') return false;
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key)) throw new DomainError('idempotency.key_invalid');
  const requestHash = createHash('sha256')
    .update(
      `${request.method}\n${request.url}\n${request.headers['if-match'] ?? ''}\n${JSON.stringify(request.body ?? null)}`,
    )
    .digest();
  const earlier = await requests.claim({ credential, key, requestHash });
  if (earlier) {
    reply.code(earlier.statusCode).headers(earlier.headers).header('idempotency-replayed', 'true');
    await reply.serializer((text: unknown) => text as string).send(earlier.body);
    return true;
  }
  request.idempotencyClaim = { credential, key };
  return false;
}

/** Keeps the answer of a claimed request, or frees the key after a fault of ours (5xx), before the answer leaves. */
export async function settleClaim(
  requests: IdempotentRequests,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<void> {
  const claim = request.idempotencyClaim;
  if (!claim) return;
  request.idempotencyClaim = null;
  if (reply.statusCode >= 500) return requests.release(claim);
  const headers = Object.fromEntries(
    kept.flatMap((name) => (reply.hasHeader(name) ? [[name, String(reply.getHeader(name))]] : [])),
  );
  await requests.settle(claim, {
    statusCode: reply.statusCode,
    headers,
    body: typeof payload === 'string' ? payload : '',
  });
}

declare module 'fastify' {
  interface FastifyRequest {
    idempotencyClaim: { credential: string; key: string } | null;
  }
}
