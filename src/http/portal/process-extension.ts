import type { Caller } from '../../domain/caller.js';
import { invalidField } from '../../domain/errors.js';
import { lacksCapability } from '../../domain/forbidden.js';
import type { Extension } from '../../domain/processes/extend.js';
import { parseDuration } from '../../platform/duration.js';
import { instantOf } from '../schemas.js';
import { adminCallerOf } from './admin-caller.js';

/** Exactly one of the two ways to say until when. */
export function extensionOf({ expires_in: expiresIn, until }: { expires_in?: string; until?: string }): Extension {
  if (expiresIn !== undefined && until !== undefined) {
    throw invalidField('until', 'process.one_of', 'send either expires_in or until');
  }
  if (until !== undefined) return { until: instantOf(until, 'until') };
  if (expiresIn !== undefined) return { expiresInMs: parseDuration(expiresIn) };
  throw invalidField('expires_in', 'process.one_of', 'send either expires_in or until');
}

/**
 * Whoever extends an offer of rights: besides the operation's own capability it takes that of managing members.
 * @returns their user id
 * @throws DomainError account.capability_required
 */
export function extenderOf(caller: Caller): string {
  const { userId, capabilities } = adminCallerOf(caller);
  if (!capabilities.includes('members.manage')) throw lacksCapability('members.manage');
  return userId;
}
