import { createHash } from 'node:crypto';
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  onSendHookHandler,
} from 'fastify';
import { type TSchema, Type } from 'typebox';
import { v4 as uuidv4, v5 as uuidv5 } from 'uuid';
import { inOrder } from '../../domain/changed-fields.js';
import { DomainError, type ErrorCode } from '../../domain/errors.js';
import type { Claimed, IdempotentRequests, SentRequest, StoredAnswer } from '../../domain/idempotency.js';
import { faultOf } from '../../platform/faults.js';
import { versionIn } from './if-match.js';
import { codesOf, errors } from './operation.js';

const storedHeaders = ['content-type', 'etag', 'location'];

type IdempotencyClaim = Claimed & SentRequest;

/** Returns whether the cookies of a stored answer may still be set. */
export type MayRepeatCookies = (cookies: string[]) => Promise<boolean>;

export interface IdempotencyOptions {
  requests: IdempotentRequests;
  /** Returns what identifies the caller, whichever token they use. */
  credentialOf(request: FastifyRequest): string;
  mayRepeatCookies?: MayRepeatCookies;
  /**
   * Called before a stored answer with a secret is sent again.
   * @throws the refusal of a caller who may not have the secret by now
   */
  assertMayRepeat?(request: FastifyRequest): Promise<unknown>;
}

/** Makes the routes of a plugin accept an `Idempotency-Key`; for plugins without a surface, which does it otherwise. */
export function takeIdempotencyKeys(
  app: FastifyInstance,
  { requests, credentialOf, ...repeating }: IdempotencyOptions,
): void {
  app.addHook('onRoute', (route) => {
    const isWrite = !['GET', 'HEAD', 'OPTIONS'].includes(String(route.method));
    if (isWrite && route.schema) {
      const codes = keyCodesOf(route);
      route.schema = takingKeys(route.schema, codes);
    }
  });
  app.addHook('preHandler', async (request, reply) => {
    if (await replayOrClaim(requests, credentialOf(request), request, reply, repeating)) return reply;
  });
  app.addHook('onSend', storeAnswers(requests));
}

/**
 * For `onSend`: stores an answer before it is sent. If the request ran out of time, it was answered meanwhile, and this
 * answer is not sent.
 */
export const storeAnswers =
  (requests: IdempotentRequests): onSendHookHandler =>
  (request, reply, payload, done) => {
    if (!request.idempotencyClaim) return done(null, payload); // most requests have no key
    settleClaim(requests, request, reply, payload).then(
      () => reply.sent || done(null, payload),
      (error) => reply.sent || done(error),
    );
  };

/** The error codes to document for a route that accepts keys. */
export const keyCodesOf = (route: { method: string | string[]; config?: FastifyContextConfig }): ErrorCode[] => [
  ...(['idempotency.key_invalid', 'idempotency.key_reused', 'idempotency.in_progress'] as const),
  ...(isRepeatable(route) ? [] : (['idempotency.answer_lost'] as const)),
];
export const KeyHeader = { 'idempotency-key': Type.Optional(Type.String()) };

function takingKeys(schema: FastifySchema, keyCodes: ErrorCode[]): FastifySchema {
  const response = schema.response as Record<number, TSchema>;
  const codes = new Set<ErrorCode>([...codesOf(response), ...keyCodes]);
  return { ...schema, headers: Type.Object(KeyHeader), response: { ...response, ...errors(...codes) } };
}

/**
 * Returns an id for the resource that a request creates: the same for the same request with the same key, otherwise a
 * new one. It is a plain hash, so it must not be used for a body that holds a secret.
 */
export function requestIdOf({ idempotencyClaim: claim }: FastifyRequest): string {
  if (!claim) return uuidv4();
  const digest = createHash('sha256').update(claim.text).digest('hex');
  return uuidv5(`${claim.credential}\n${claim.key}\n${digest}`, namespace);
}
const namespace = '3f6c1a52-9a34-4a4b-8a0e-5b8f1f8d7c11'; // any fixed UUID would do

/**
 * `Idempotency-Key` on a write: the first answer is stored for 24 hours for this credential, and sent again for the
 * same request (contract §1). Runs when the caller is known and the request is valid, so that a refused request does
 * not use up the key.
 * @returns true when the answer was already sent
 */
export async function replayOrClaim(
  requests: IdempotentRequests,
  credential: string,
  request: FastifyRequest,
  reply: FastifyReply,
  { mayRepeatCookies, assertMayRepeat }: Pick<IdempotencyOptions, 'mayRepeatCookies' | 'assertMayRepeat'> = {},
): Promise<boolean> {
  const key = keyOf(request);
  if (key === null) return false;
  const claim = { credential, key, ...textsOf(request) };
  const claimed = await requests.claim({ ...claim, isRepeatable: isRepeatable(request.routeOptions) });
  if (claimed.earlier) {
    const { earlier } = claimed;
    await assertMayRepeat?.(request);
    // Not if the session's token was renewed since: the old one in this cookie would look stolen.
    if (earlier.cookies && (await mayRepeatCookies?.(earlier.cookies))) reply.header('set-cookie', earlier.cookies);
    await sendAgain(reply, earlier);
    return true;
  }
  request.idempotencyClaim = { ...claim, lockedUntil: claimed.lockedUntil };
  return false;
}

/**
 * Returns whether a request that its caller may not make could be the retry of one that they were allowed to make,
 * because they have used its key before. Only then is the body read.
 */
export async function mayBeRetry(
  requests: IdempotentRequests,
  credential: string,
  request: FastifyRequest,
): Promise<boolean> {
  const { 'idempotency-key': key } = request.headers;
  // A malformed key belongs to nobody: the missing right is reported first (contract §10).
  return isKey(key) && requests.isKnown({ credential, key });
}

/**
 * Sends the stored answer of the same request and credential again.
 * @returns false if there is none; then nothing was sent
 */
export async function replay(
  requests: IdempotentRequests,
  credential: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  const key = keyOf(request);
  const earlier = key === null ? null : await requests.find({ credential, key, ...textsOf(request) });
  if (earlier) await sendAgain(reply, earlier);
  return earlier !== null;
}

/**
 * Returns whether a repetition of the request changes nothing more: PUT, PATCH and DELETE by definition (RFC 9110
 * §9.2.2), a POST if its route says so.
 */
const isRepeatable = ({ method, config }: { method: string | string[]; config?: FastifyContextConfig }): boolean =>
  method !== 'POST' || config?.isRepeatable === true;

/**
 * Returns the request's key; null if there is none, or the method has no use for one.
 * @throws DomainError idempotency.key_invalid
 */
export function keyOf({ headers, method }: FastifyRequest): string | null {
  const key = headers['idempotency-key'];
  if (key === undefined || method === 'GET' || method === 'HEAD') return null;
  if (!isKey(key)) throw new DomainError('idempotency.key_invalid');
  return key;
}
const isKey = (key: unknown): key is string => typeof key === 'string' && /^[\x21-\x7e]{1,255}$/.test(key);

/**
 * Returns what has to be equal in a retry, in a normal form and as it was sent: a client that serializes the body again
 * may put its members in another order, or write the version differently.
 */
function textsOf({ method, url, headers, body = null }: FastifyRequest): Pick<SentRequest, 'text' | 'textAsSent'> {
  const ifMatch = headers['if-match'] ?? '';
  return {
    text: `${method}\n${url}\n${versionIn(ifMatch) ?? ifMatch}\n${inOrder(body)}`,
    textAsSent: `${method}\n${url}\n${ifMatch}\n${JSON.stringify(body)}`,
  };
}

async function sendAgain(reply: FastifyReply, { statusCode, headers, body }: StoredAnswer): Promise<void> {
  reply.code(statusCode).headers(headers).header('idempotency-replayed', 'true');
  await reply.serializer((text: unknown) => text as string).send(body);
}

/**
 * Stores the answer of a request that has claimed its key, before it is sent. After a server error (5xx), or an answer
 * that asks the caller to retry (429, or any with Retry-After), frees the key instead. If it is unknown whether the
 * request was carried out, the key stays claimed; when the claim expires, a retry looks for the request's effects.
 */
async function settleClaim(
  requests: IdempotentRequests,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<void> {
  const claim = request.idempotencyClaim;
  if (!claim) return;
  request.idempotencyClaim = null;
  if (reply.statusCode === 429 || reply.statusCode >= 500 || reply.hasHeader('retry-after')) {
    if (request.context.outcome?.isUnknown) return;
    // The answer already says what is wrong. If this fails, the claim expires after a minute; an error thrown here
    // would send PostgreSQL's own message.
    return requests.release(claim).catch((error) => request.log.warn({ fault: faultOf(error) }, 'a key is not freed'));
  }
  const cookies = ([] as string[]).concat((reply.getHeader('set-cookie') as string | string[] | undefined) ?? []);
  const headers = Object.fromEntries(
    storedHeaders.flatMap((name) => (reply.hasHeader(name) ? [[name, String(reply.getHeader(name))]] : [])),
  );
  await requests.settle(claim, {
    statusCode: reply.statusCode,
    headers,
    body: typeof payload === 'string' ? payload : '',
    cookies,
  });
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** For a POST that creates the same resource when repeated, by `requestIdOf`. */
    isRepeatable?: boolean;
  }
  interface FastifyRequest {
    idempotencyClaim: IdempotencyClaim | null;
  }
}
