import { performance } from 'node:perf_hooks';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../domain/errors.js';
import { seconds } from '../platform/clock.js';
import { runInContext } from '../platform/context.js';

/** Finds out who calls and what they may, and notes it at the request. Throws what they are refused with. */
export type Prove = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

declare module 'fastify' {
  interface FastifyRequest {
    /** When its caller was found to be who they are, and how to find it out again; null where nobody was asked, or not yet. */
    proof: { at: number; prove: Prove } | null;
  }
}

/** Contract §5. */
const goodForMs = seconds(1);

/** As `onRequest`: a credential is proved before a body is read, and once more where that took its time (`proveAgainWhenLate`). */
export const proving =
  (prove: Prove): Prove =>
  async (request, reply) => {
    const at = performance.now(); // before the database is asked: what it says may be as old
    await prove(request, reply);
    request.proof = { at, prove };
    request.context.stillMay ??= () => assertStillMay(request, reply);
  };

/**
 * Proves callers again whose requests came slowly, right before anything is done for them: whoever is revoked, deactivated or expired
 * while their body is on its way is refused as if it had begun then (docs/decisions/0005). Most requests come at once, and nothing is
 * asked twice.
 */
export function proveAgainWhenLate(app: FastifyInstance): void {
  app.decorateRequest('proof', null);
  app.addHook('preHandler', (request, reply, done) => {
    if (isGood(request)) return done();
    proveAgain(request, reply).then(() => done(), done);
  });
}

/**
 * For what takes its time, before more of it is told.
 * @throws what the caller is refused with by now
 */
export async function proveAgain(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { proof, context } = request;
  if (proof && !isGood(request)) await runInContext(context, () => proving(proof.prove)(request, reply));
}

/** For what takes its time, before anything of it is written. @throws what the caller is refused with by now */
async function assertStillMay(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const rights = rightsOf(request);
  await proveAgain(request, reply);
  if (request.refused) throw await request.refused.refusal();
  // The handler goes by what the caller might do at the beginning; the same again goes by what they may now.
  if (rightsOf(request) !== rights) throw new DomainError('service.unavailable', { retryAfter: 1 });
}

const isGood = ({ proof }: FastifyRequest): boolean => proof === null || performance.now() - proof.at <= goodForMs;

/** The same pieces, as long as the caller may have them: a reader who takes their time is cut off when that ends. */
export const whileProved = (pieces: Readable, request: FastifyRequest, reply: FastifyReply): Readable =>
  Readable.from(provedPieces(pieces, request, reply), inBytes);

/** How far ahead pieces are made is bounded by their length, and not by their number, which `Readable.from` goes by itself. */
export const inBytes = { objectMode: false };

async function* provedPieces(pieces: Readable, request: FastifyRequest, reply: FastifyReply) {
  const rights = rightsOf(request);
  for await (const piece of pieces) {
    await proveAgain(request, reply);
    // What is read was chosen by what they might see at the beginning.
    if (rightsOf(request) !== rights) throw new DomainError('account.capability_required');
    yield piece;
  }
}

/** What a caller may, and where, as text; what an end user may is proved anew as a whole. */
function rightsOf({ authorized }: FastifyRequest): string {
  const caller = authorized?.caller;
  if (caller?.type === 'api_key') return JSON.stringify([caller.accessMode, caller.scopes]);
  if (caller?.type !== 'platform_admin') return '';
  return JSON.stringify(caller.roles.map(({ id, capabilities, limits }) => [id, capabilities, limits]));
}
