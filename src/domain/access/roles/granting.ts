import { groupBy } from '../../../platform/group-by.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import type { Caller } from '../../caller.js';
import { type Check, deniedChecks, type Evaluation } from '../decisions/evaluate.js';
import { systemPermissions } from './permissions.js';

/** Permissions that are to be granted at a node; null is the root. */
export interface WantedGrant {
  keys: readonly string[];
  nodeId: string | null;
  /** The recipient, if known: nobody grants themselves a right for longer than they hold it (docs/decisions/0018). */
  identityId?: string | null | undefined;
  /** When it begins; null, or not said: now. */
  from?: Date | null;
  /** When it ends; null, or not said: never. */
  until?: Date | null;
  /** Where the role is in the request; if it is not said, `role_id`. */
  field?: string | undefined;
}

/**
 * Which of some permissions a caller lacks at the root, and so cannot grant for the whole Environment (contract §5):
 * callers can only give what they hold. Administrators act by capability. Keys hold their scopes everywhere, and the
 * permissions that the application has registered: no scope names those, and the key is the application's own
 * (docs/decisions/0017).
 */
export async function lackingAtRoot(
  evaluation: Evaluation,
  scope: EnvironmentScope,
  caller: Caller,
  keys: readonly string[],
): Promise<string[]> {
  const [lacking = []] = await lackingAtEach(evaluation, scope, caller, [{ keys, nodeId: null }]);
  return lacking;
}

/**
 * Returns the permissions that the caller lacks for each of many grants, in order, worded for the caller. What several
 * grants need at one node is checked once.
 */
export async function lackingAtEach(
  evaluation: Evaluation,
  { environmentId }: EnvironmentScope,
  caller: Caller,
  wanted: readonly WantedGrant[],
): Promise<string[][]> {
  if (caller.type === 'platform_admin') return wanted.map(() => []);
  if (caller.type === 'api_key') {
    const isHeld = (key: string) =>
      caller.accessMode === 'full' || caller.scopes.includes(key) || !Object.hasOwn(systemPermissions, key);
    return wanted.map(({ keys }) => keys.filter((key) => !isHeld(key)));
  }
  const { identityId } = caller;
  const lacking = new Map<string | null, Set<string>>();
  for (const { nodeId, permission } of await deniedChecks(evaluation, environmentId, checksOf(identityId, wanted)))
    lacking.set(nodeId, (lacking.get(nodeId) ?? new Set()).add(permission));
  const found = wanted.map(({ keys, nodeId }) => keys.filter((key) => lacking.get(nodeId)?.has(key)));
  const own = [...wanted.entries()].filter(([at, one]) => one.identityId === identityId && !found[at]?.length);
  for (const [, some] of groupBy(own, ([, one]) => `${one.nodeId} ${one.from?.getTime()} ${one.until?.getTime()}`)) {
    const [, one] = some[0]!; // none is empty
    const keys = some.flatMap(([, each]) => each.keys);
    const held = await evaluation.heldThroughout(environmentId, { identityId, nodeId: one.nodeId, keys }, one);
    for (const [at, each] of some)
      found[at] = each.keys.filter((key) => !held.has(key)).map((key) => `${key} for that long`);
  }
  return found;
}

/** Generated one by one: a thousand roles of a thousand permissions would be a million checks in memory. */
function* checksOf(identityId: string, wanted: readonly WantedGrant[]): Generator<Check> {
  const seen = new Map<string | null, Set<string>>();
  for (const { keys, nodeId } of wanted) {
    const there = seen.get(nodeId) ?? new Set();
    seen.set(nodeId, there);
    for (const permission of keys) {
      if (there.has(permission)) continue;
      there.add(permission);
      yield { identityId, permission, nodeId };
    }
  }
}
