import type { EventAction } from '../../domain/events/catalogue.js';

/** An account was made, and its first administrator is in it. */
export const accountEvents = [
  'account.created',
  'application.created',
  'environment.created',
  'member.added',
  'auth.admin_signed_in',
] as const satisfies readonly EventAction[];
