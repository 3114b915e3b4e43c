import type { Asked } from '../domain/access/rights.js';
import type { Caller } from '../domain/caller.js';
import { DomainError, type ErrorCode } from '../domain/errors.js';
import type { EnvironmentScope } from '../domain/scope.js';
import type { Services } from '../services.js';

const lacking: Record<Caller['type'], ErrorCode> = {
  api_key: 'api_key.scope_required',
  identity: 'permission.required',
  platform_admin: 'account.capability_required',
};

/** The 403 of whoever lacks what is asked for, with its name: nobody should have to look it up. */
export const refusedTo = ({ type }: Pick<Caller, 'type'>, { permissions, capability }: Asked): DomainError => {
  const names = type === 'platform_admin' ? [capability].filter((name) => name !== undefined) : permissions;
  const details = names.length > 0 && [{ field: '', code: 'lacking', message: `needs ${names.join(' or ')}` }];
  return new DomainError(lacking[type], details ? { details } : {});
};

/**
 * For a node that the body of a request names: whether its caller holds what is asked there; null is the root.
 * @throws DomainError nodes.node_not_found, or the 403 of this kind of caller
 */
export async function assertHoldsAt(
  { services, scope, caller }: { services: Pick<Services, 'rights'>; scope: EnvironmentScope; caller: Caller },
  asked: Asked,
  nodeId: string | null,
): Promise<void> {
  const held = await services.rights.holdsAt(scope, caller, asked, nodeId);
  if (held === 'node_not_found') throw new DomainError('nodes.node_not_found');
  if (held === 'lacking') throw refusedTo(caller, asked);
}
