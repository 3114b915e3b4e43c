import type { EventAction } from '../../domain/events/catalogue.js';

/** The events when an account is created, and its first administrator is signed in. */
export const accountEvents = [
  'account.created',
  'application.created',
  'environment.created',
  'member.added',
  'auth.admin_signed_in',
] as const satisfies readonly EventAction[];
