import type { Caller } from './caller.js';
import { DomainError, maxNamed } from './errors.js';

/** The codes of a 403 for a missing right, by kind of caller (specification, "Authentication", rules 4 and 5). */
export const forbiddenCodes = {
  api_key: 'api_key.scope_required',
  identity: 'permission.required',
  platform_admin: 'account.capability_required',
} as const satisfies Record<Caller['type'], string>;

/** One of the permissions, or of an administrator the capability. */
interface MissingRight {
  permissions: readonly string[];
  capability?: string;
  /** Whether they are needed at the root of the Environment, where somebody who holds them at a node does not. */
  isAtRoot?: boolean;
}

/** Returns the 403 for a missing right. It names the right, so that nobody has to look it up. */
export const forbiddenFor = (
  { type }: Pick<Caller, 'type'>,
  { permissions, capability, isAtRoot }: MissingRight,
): DomainError => {
  const names = type === 'platform_admin' ? [capability].filter((name) => name !== undefined) : permissions;
  const place = type === 'identity' && isAtRoot ? " at the environment's root" : '';
  const details = names.length > 0 && [{ field: '', code: 'lacking', message: `needs ${names.join(' or ')}${place}` }];
  return new DomainError(forbiddenCodes[type], details ? { details } : {});
};

/** Returns the 403 for an administrator who lacks a capability. */
export const lacksCapability = (capability: string | undefined): DomainError =>
  forbiddenFor({ type: 'platform_admin' }, { permissions: [], ...(capability && { capability }) });

/**
 * Returns the refusal to grant rights that the caller does not hold; it names at most `maxNamed`. `field` is their
 * place in the request.
 */
export function cannotGrant(
  code: 'role.cannot_grant' | 'api_key.cannot_grant' | 'administrator_role.cannot_grant',
  field: string,
  lacking: readonly string[],
): DomainError {
  const detailOf = (right: string) => ({ field, code: 'lacking', message: `You do not hold ${right} yourself` });
  return new DomainError(code, { details: lacking.slice(0, maxNamed).map(detailOf) });
}
