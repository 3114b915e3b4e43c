import type { Caller } from '../../domain/caller.js';
import { lacksCapability } from '../../domain/forbidden.js';
import { administrator } from './administrator.js';

/**
 * Whoever prolongs an offer of rights: besides the operation's own capability it takes that of managing members.
 * @returns their user id
 * @throws DomainError account.capability_required
 */
export function prolongerOf(caller: Caller): string {
  const { userId, capabilities } = administrator(caller);
  if (!capabilities.includes('members.manage')) throw lacksCapability('members.manage');
  return userId;
}
