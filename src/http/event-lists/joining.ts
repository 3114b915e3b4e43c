import type { EventAction } from '../../domain/events/catalogue.js';

/**
 * The events when a person becomes a member of an Environment: they are created, and what remained from an earlier
 * membership ends, such as the session of a sign-in that was under way while they were removed.
 */
export const joiningEvents = [
  'identity.created',
  'identity.sessions_revoked',
  'auth.identity_signed_out',
] as const satisfies readonly EventAction[];
