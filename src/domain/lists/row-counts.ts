import type { EntityManager } from 'typeorm';
import type { RowCountList } from '../../../entities/row-count.js';
import { nilUuid } from '../../platform/uuid.js';
import { environmentExists } from '../existing-environment.js';
import { type Bind, bindInto } from './sql-parameters.js';

/** Whose lists: all of an Account's, those of one Environment, or (null) those that belong to no Environment. */
export interface Counted {
  accountId: string;
  environmentId?: string | null | undefined;
  /** The webhook or the directory, if each has a list of its own. */
  ownerId?: string;
  /** SQL: whether rows of an Environment are included; `environmentExists` by default. */
  stands?(row: string): string;
}

/**
 * SQL: the exact number of rows that some lists have together; the database counts them (docs/decisions/0085). Rows of
 * an Environment that is being deleted are not included.
 */
export function rowCount(
  put: Bind,
  { accountId, environmentId, ownerId, stands = environmentExists }: Counted,
  ...lists: readonly RowCountList[]
): string {
  const conditions = [`c.account_id = ${put(accountId)}`, `c.list = any(${put(lists)})`];
  if (environmentId !== undefined) conditions.push(`c.environment_id = ${put(environmentId ?? nilUuid)}`);
  if (environmentId !== null) conditions.push(`(c.environment_id = '${nilUuid}' or ${stands('c')})`);
  if (ownerId !== undefined) conditions.push(`c.owner_id = ${put(ownerId)}`);
  return `(select coalesce(sum(c.value), 0) from row_counts c where ${conditions.join(' and ')})`;
}

/** Returns that number, in a statement of its own. */
export async function readRowCount(
  tx: EntityManager,
  counted: Counted,
  ...lists: readonly RowCountList[]
): Promise<number> {
  const values: unknown[] = [];
  const text = `select ${rowCount(bindInto(values), counted, ...lists)} as total`;
  const [row] = await tx.query<{ total: string }[]>(text, values);
  return Number(row!.total);
}
