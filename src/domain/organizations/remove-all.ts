import type { EntityManager } from 'typeorm';
import type { Left } from '../../platform/database/in-parts.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { removeSubtrees } from '../hierarchy/removal.js';
import { schemaFor } from '../hierarchy/schema-row.js';
import { maxAtOnce, surplusRoles, takeSurplus } from '../hierarchy/surplus-roles.js';

/** How many organizations one transaction deletes, each with everything below it. */
const atOnce = 100;

/**
 * Deletes some organizations that are in no other one, in the caller's transaction, or first some of the roles there;
 * tells whether there may be more.
 * @param rolesAtOnce the most role assignments that are deleted along with the organizations
 */
export async function removeSome(
  tx: EntityManager,
  scope: EnvironmentScope,
  at: Date,
  rolesAtOnce = maxAtOnce,
): Promise<Left> {
  await schemaFor(tx, scope, 'another shape');
  const tops = await tx.query<{ id: string }[]>(
    `select n.id from nodes n where n.account_id = $1 and n.environment_id = $2 and n.node_type = 'organization'
       and not exists (select from nodes above
         where above.id = any(n.path) and above.id <> n.id and above.node_type = 'organization')
     order by n.created_at, n.id limit $3`,
    [scope.accountId, scope.environmentId, atOnce],
  );
  if (tops.length === 0) return 'done';
  const ids = tops.map(({ id }) => id);
  const surplus = await surplusRoles(tx, scope, ids, rolesAtOnce);
  if (surplus) {
    await takeSurplus(tx, scope, surplus, at);
    return 'more';
  }
  await removeSubtrees(tx, scope, ids, at);
  return tops.length === atOnce ? 'more' : 'done';
}
