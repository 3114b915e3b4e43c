import { performance } from 'node:perf_hooks';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/errors.js';
import { seconds } from '../../platform/clock.js';
import { runInContext } from '../../platform/context.js';

/** Finds out who calls and what they may do, and notes it at the request; throws the refusal. */
export type Prove = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * When the caller's credential was checked, and how to check it again; null if the route needs none, or the check
     * is still to come.
     */
    proof: { at: number; prove: Prove } | null;
  }
}

/** How long a check is valid (contract §5). */
const goodForMs = seconds(1);

/**
 * For `onRequest`: checks the credential before a body is read. If reading takes long, it is checked again
 * (`proveAgainWhenLate`).
 */
export const proving =
  (prove: Prove): Prove =>
  async (request, reply) => {
    const at = performance.now(); // before the query: its result may be as old as this
    await prove(request, reply);
    request.proof = { at, prove };
    request.context.stillMay ??= () => assertStillMay(request, reply);
  };

/**
 * Checks the credential again if the request arrived slowly, right before its handler runs: a caller who is revoked,
 * deactivated or expired while the body arrives is refused, as if the request had begun then (docs/decisions/0005).
 * Most requests arrive at once, and nothing is checked twice.
 */
export function proveAgainWhenLate(app: FastifyInstance): void {
  app.decorateRequest('proof', null);
  app.addHook('preHandler', (request, reply, done) => {
    if (isGood(request)) return done();
    proveAgain(request, reply).then(() => done(), done);
  });
}

/**
 * Checks the credential again if the last check is too old; for slow answers, before more of them is sent.
 * @throws the caller's refusal, if they have lost access by now
 */
export async function proveAgain(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { proof, context } = request;
  if (proof && !isGood(request)) await runInContext(context, () => proving(proof.prove)(request, reply));
}

/**
 * Checks the credential again, and that the caller's rights are the same; for slow work, before it writes.
 * @throws the caller's refusal, if they have lost access by now
 */
async function assertStillMay(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const rights = rightsOf(request);
  await proveAgain(request, reply);
  if (request.refused) throw await request.refused.refusal();
  // The handler works with the rights that the caller had at the beginning; a retry will get the new ones.
  if (rightsOf(request) !== rights) throw new DomainError('service.unavailable', { retryAfter: 1 });
}

const isGood = ({ proof }: FastifyRequest): boolean => proof === null || performance.now() - proof.at <= goodForMs;

/** Passes pieces on as long as the caller may read them: a slow reader is cut off when their access ends. */
export const whileProved = (pieces: Readable, request: FastifyRequest, reply: FastifyReply): Readable =>
  Readable.from(provedPieces(pieces, request, reply), inBytes);

/** Makes `Readable.from` limit how far it reads ahead by bytes, and not by the number of pieces (its default). */
export const inBytes = { objectMode: false };

async function* provedPieces(pieces: Readable, request: FastifyRequest, reply: FastifyReply) {
  const rights = rightsOf(request);
  for await (const piece of pieces) {
    await proveAgain(request, reply);
    // The rows were chosen by the rights that the caller had at the beginning.
    if (rightsOf(request) !== rights) throw new DomainError('account.capability_required');
    yield piece;
  }
}

/** Returns a caller's rights as text, for comparison; empty for an end user, whose rights are checked as a whole. */
function rightsOf({ authorized }: FastifyRequest): string {
  const caller = authorized?.caller;
  if (caller?.type === 'api_key') return JSON.stringify([caller.accessMode, caller.scopes]);
  if (caller?.type !== 'platform_admin') return '';
  return JSON.stringify(caller.roles.map(({ id, capabilities, limits }) => [id, capabilities, limits]));
}
