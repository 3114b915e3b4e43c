import type { EntityManager } from 'typeorm';
import type { EnvironmentScope } from '../../platform/scope.js';
import { isShort } from '../lists/identity-search.js';
import { containing } from '../lists/paging.js';
import type { Bind } from '../lists/sql-parameters.js';

/** If a text finds more nodes than this, reading all of them takes PostgreSQL no longer. */
const maxLookedUp = 1000;

/**
 * SQL: the rows `node` with a text in their name or slug. The matches are looked up first, by a function, since
 * row-level security keeps PostgreSQL from using the trigrams; if those do not help, or match too much, every node is
 * compared.
 */
export async function havingText(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  q: string,
): Promise<(put: Bind) => string> {
  const pattern = containing(q);
  if (!isShort(q)) {
    const found = await tx.query<{ id: string }[]>('select gatehouse_matching_nodes($1, $2, $3, $4) as id', [
      accountId,
      environmentId,
      pattern,
      maxLookedUp + 1,
    ]);
    const ids = found.map(({ id }) => id);
    if (ids.length <= maxLookedUp) return (put) => `node.id = any(${put(ids)}::uuid[])`;
  }
  return (put) => `gatehouse_node_text(node.name, node.slug) ilike ${put(pattern)}`;
}
