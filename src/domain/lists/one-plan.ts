import type { Bind } from './sql-parameters.js';

/**
 * SQL: true for every row. For a list by age whose statement has one plan for all tenants: PostgreSQL expects as many
 * rows as an average tenant has, and would rather read all of them and sort. It does not know these bounds when it
 * plans, so it expects few rows, and reads the index in its order.
 */
export const atAnyTime = (createdAt: string, put: Bind): string =>
  `${createdAt} between ${put('-infinity')} and ${put('infinity')}`;

/**
 * SQL: the rows of the Environment `$2`, for such a list in another order, which then begins with the Environment, too.
 * Of a range PostgreSQL expects a share of the table, however few rows an average Environment has.
 */
export const inEnvironmentsOrder = (environmentId: string): string => `${environmentId} between $2 and $2`;
