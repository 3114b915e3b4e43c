import type { EventAction } from '../../domain/events/catalogue.js';

/**
 * What is written when somebody becomes a member: they are there, and what they had there from before ends, such as the session of a
 * sign-in that was under way while they were removed.
 */
export const joiningEvents = [
  'identity.created',
  'identity.sessions_revoked',
  'auth.identity_signed_out',
] as const satisfies readonly EventAction[];
