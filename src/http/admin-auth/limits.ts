import type { FastifyRequest } from 'fastify';
import { countedAddress } from '../../domain/addresses/counted-address.js';
import { inALabels } from '../../domain/logins/address.js';
import type { Counted } from '../surfaces/rate-limits.js';
import { userOf } from './signed-in.js';

/** For limits per signed-in user. */
export const byUser: Counted = { name: 'user', keyOf: userOf };

/** For limits per email address in the body: in any spelling, and whether or not anybody has it. */
export const byMailAddress: Counted = {
  name: 'email address',
  keyOf: ({ body }: FastifyRequest) => countedAddress(inALabels((body as { email: string }).email)),
};
