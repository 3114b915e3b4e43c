import type { EnvironmentScope } from '../../platform/db.js';
import type { Caller } from '../caller.js';
import type { Evaluation } from './evaluate.js';

/**
 * Which of some permissions a caller lacks at a node (null: the root), and so cannot grant there (contract §5): callers can
 * only give what they hold. Administrators act by capability, and keys hold their scopes everywhere.
 */
export async function lackingAt(
  evaluation: Evaluation,
  { environmentId }: EnvironmentScope,
  caller: Caller,
  keys: readonly string[],
  nodeId: string | null,
): Promise<string[]> {
  if (caller.type === 'platform_admin' || keys.length === 0) return [];
  if (caller.type === 'api_key') {
    return caller.accessMode === 'full' ? [] : keys.filter((key) => !caller.scopes.includes(key));
  }
  const { identityId } = caller;
  const decisions = await evaluation.evaluate(
    environmentId,
    keys.map((permission) => ({ identityId, permission, nodeId })),
  );
  return keys.filter((_, i) => !decisions[i]?.allowed);
}
