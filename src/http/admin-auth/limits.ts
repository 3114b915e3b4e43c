import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { countedAddress } from '../../domain/addresses/counted-address.js';
import { inALabels } from '../../domain/logins/address.js';
import type { LimitPolicy } from '../../platform/limiter.js';
import type { Counted, RateLimits } from '../surfaces/rate-limits.js';
import { userOf } from './signed-in.js';

/** For limits per signed-in user. */
export const byUser: Counted = { name: 'user', keyOf: userOf };

/** For limits per email address in the body: in any spelling, and whether or not anybody has it. */
export const byMailAddress: Counted = {
  name: 'email address',
  keyOf: ({ body }: FastifyRequest) => countedAddress(inALabels((body as { email: string }).email)),
};

/**
 * The hooks of a limit on what a user creates. A request counts before its body is read, and so does an invalid one. With
 * an `Idempotency-Key` it counts once it is known that there is no earlier answer: a retry that gets that one creates
 * nothing.
 */
export function creationLimit(limits: Pick<RateLimits, 'exact'>, policy: LimitPolicy) {
  const count = limits.exact(policy, byUser);
  const countIf = (takesKey: boolean) =>
    async function countCreation(this: FastifyInstance, request: FastifyRequest, reply: FastifyReply): Promise<void> {
      if ((request.headers['idempotency-key'] !== undefined) === takesKey) await count.call(this, request, reply);
    };
  return { onRequest: countIf(false), preHandler: Object.assign(countIf(true), { limit: count.limit }) };
}
