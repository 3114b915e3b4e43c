import type { EntityManager } from 'typeorm';
import { RoleAssignment } from '../../../../entities/role-assignment.js';
import { type Db, within } from '../../../platform/database/db.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import { containing, type Page, type PageRequest, readPage } from '../../lists/paging.js';
import type { ReachedNodes } from '../rights.js';

/** An assignment with the names that people know. */
export interface NamedAssignment extends RoleAssignment {
  roleName: string;
  nodeName: string;
}

interface Wanted {
  identityId: string;
  /** The top nodes of the caller's part of the tree; null: the whole tree. */
  part: ReachedNodes;
  page: PageRequest<'created_at'>;
}

const namesContain = `(exists (select from roles r where r.id = assignment.role_id and r.name::text ilike :pattern)
  or exists (select from nodes n where n.id = assignment.node_id and n.name ilike :pattern))`;
const inPart = 'exists (select from nodes n where n.id = assignment.node_id and n.path && :part::uuid[])';
const columns = { created_at: ['assignment.createdAt', 'assignment.id'] };

/**
 * The assignments of an Identity in a part of the tree that were not removed, whatever their window; `q` is part of the
 * role's or the node's name.
 */
export const listAssignments = (
  db: Pick<Db, 'transaction'>,
  scope: EnvironmentScope,
  { identityId, part, page }: Wanted,
): Promise<Page<NamedAssignment>> =>
  db.transaction(scope, async (tx) => {
    const query = tx
      .createQueryBuilder(RoleAssignment, 'assignment')
      .where({ ...within(scope), identityId })
      .andWhere('assignment.removedAt is null');
    if (part) query.andWhere(inPart, { part });
    if (page.q) query.andWhere(namesContain, { pattern: containing(page.q) });
    const { rows, ...rest } = await readPage(query, page, columns[page.sortBy]);
    return { ...rest, rows: await withNames(tx, scope, rows) };
  });

export async function withNames(
  tx: EntityManager,
  scope: EnvironmentScope,
  assignments: readonly RoleAssignment[],
): Promise<NamedAssignment[]> {
  const names = await tx.query<{ id: string; roleName: string; nodeName: string }[]>(
    `select a.id, r.name::text as "roleName", n.name as "nodeName"
     from role_assignments a join roles r on r.id = a.role_id join nodes n on n.id = a.node_id
     where a.environment_id = $1 and a.id = any($2)`,
    [scope.environmentId, assignments.map(({ id }) => id)],
  );
  const byId = new Map(names.map(({ id, ...rest }) => [id, rest]));
  return assignments.map((one) => ({ ...one, roleName: '', nodeName: '', ...byId.get(one.id) }));
}
