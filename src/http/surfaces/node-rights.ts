import type { RequiredRight } from '../../domain/access/rights.js';
import type { Caller } from '../../domain/caller.js';
import { DomainError } from '../../domain/errors.js';
import { forbiddenFor } from '../../domain/forbidden.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';

/**
 * Checks that the caller holds the required right at a node that the request's body names; null is the root.
 * @throws DomainError nodes.node_not_found, or the 403 of this kind of caller
 */
export async function assertHoldsAt(
  { services, scope, caller }: { services: Pick<Services, 'rights'>; scope: EnvironmentScope; caller: Caller },
  required: RequiredRight,
  nodeId: string | null,
): Promise<void> {
  const held = await services.rights.holdsAt(scope, caller, required, nodeId);
  if (held === 'node_not_found') throw new DomainError('nodes.node_not_found');
  if (held === 'lacking') throw forbiddenFor(caller, required);
}
