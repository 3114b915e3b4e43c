import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { v4 as uuidv4, v5 as uuidv5 } from 'uuid';
import { DomainError } from '../domain/errors.js';
import type { IdempotentRequests } from '../domain/idempotency.js';

const kept = ['content-type', 'etag', 'location'];

interface IdempotencyClaim {
  credential: string;
  key: string;
  requestHash: Buffer;
}

/** Whether the cookies of a kept answer are still worth setting. */
export type MayRepeatCookies = (cookies: string[]) => Promise<boolean>;

export interface IdempotencyOptions {
  requests: IdempotentRequests;
  /** Names who asks, whatever token they come with. */
  credentialOf(request: FastifyRequest): string;
  mayRepeatCookies?: MayRepeatCookies;
}

/** Has the routes of a plugin take an `Idempotency-Key`, where no surface does it for them. */
export function takeIdempotencyKeys(
  app: FastifyInstance,
  { requests, credentialOf, mayRepeatCookies }: IdempotencyOptions,
): void {
  app.addHook('preHandler', async (request, reply) => {
    if (await replayOrClaim(requests, credentialOf(request), request, reply, mayRepeatCookies)) return reply;
  });
  app.addHook('onSend', async (request, reply, payload) => {
    await settleClaim(requests, request, reply, payload);
    return payload;
  });
}

/** An id for what a request makes: the same one for the same request with the same key, else a new one. */
export function requestIdOf({ idempotencyClaim: claim }: FastifyRequest): string {
  if (!claim) return uuidv4();
  return uuidv5(`${claim.credential}\n${claim.key}\n${claim.requestHash.toString('hex')}`, namespace);
}
const namespace = '3f6c1a52-9a34-4a4b-8a0e-5b8f1f8d7c11'; // any fixed UUID would do

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
  mayRepeatCookies: MayRepeatCookies = async () => false,
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
    // Never under a session that has gone on since: its spent token would look like a stolen one.
    if (earlier.cookies && (await mayRepeatCookies(earlier.cookies))) reply.header('set-cookie', earlier.cookies);
    await reply.serializer((text: unknown) => text as string).send(earlier.body);
    return true;
  }
  request.idempotencyClaim = { credential, key, requestHash };
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
  const cookies = ([] as string[]).concat((reply.getHeader('set-cookie') as string | string[] | undefined) ?? []);
  const headers = Object.fromEntries(
    kept.flatMap((name) => (reply.hasHeader(name) ? [[name, String(reply.getHeader(name))]] : [])),
  );
  await requests.settle(claim, {
    statusCode: reply.statusCode,
    headers,
    body: typeof payload === 'string' ? payload : '',
    cookies,
  });
}

declare module 'fastify' {
  interface FastifyRequest {
    idempotencyClaim: IdempotencyClaim | null;
  }
}
