import type { EntityManager } from 'typeorm';
import type { EnvironmentScope } from '../../platform/scope.js';
import { isShort } from '../identity-search.js';
import { containing } from '../paging.js';
import type { Bind } from '../sql-parameters.js';

/** Where a text finds more, reading all nodes takes PostgreSQL no longer than looking up those. */
const mostLookedUp = 1000;

/**
 * SQL: keeps to the rows `node` that have a text in their name or slug. What it finds is asked first, by way of a function, since
 * row-level security keeps PostgreSQL from using the trigrams; where those say nothing, or too much, every node is compared.
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
      mostLookedUp + 1,
    ]);
    const ids = found.map(({ id }) => id);
    if (ids.length <= mostLookedUp) return (put) => `node.id = any(${put(ids)}::uuid[])`;
  }
  return (put) => `gatehouse_node_text(node.name, node.slug) ilike ${put(pattern)}`;
}
