import type { Caller } from '../../domain/caller.js';
import { invalidField } from '../../domain/errors.js';
import { lacksCapability } from '../../domain/forbidden.js';
import type { Extension } from '../../domain/processes/extend.js';
import { parseDuration } from '../../platform/duration.js';
import { instantOf } from '../surfaces/schemas.js';
import { adminCallerOf } from './admin-caller.js';

/** Returns the wanted extension; the body must have exactly one of the two fields. */
export function extensionOf({ expires_in: expiresIn, until }: { expires_in?: string; until?: string }): Extension {
  if (expiresIn !== undefined && until !== undefined) {
    throw invalidField('until', 'process.one_of', 'send either expires_in or until');
  }
  if (until !== undefined) return { until: instantOf(until, 'until') };
  if (expiresIn !== undefined) return { expiresInMs: parseDuration(expiresIn) };
  throw invalidField('expires_in', 'process.one_of', 'send either expires_in or until');
}

/**
 * Returns the user id of an administrator who extends an offer of rights, for which they also need the capability to
 * manage members, besides the operation's own.
 * @throws DomainError account.capability_required
 */
export function extenderOf(caller: Caller): string {
  const { userId, capabilities } = adminCallerOf(caller);
  if (!capabilities.includes('members.manage')) throw lacksCapability('members.manage');
  return userId;
}
