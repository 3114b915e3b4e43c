/**
 * SQL: whether the Environment of a row is there still. One that is being removed belongs to no Account any more
 * (docs/decisions/0042), so that what belonged to it counts for nothing. One look-up by key, whatever the plan.
 * @param row what its columns are named by
 */
export const environmentStands = (row: string): string =>
  `(select account_id from environments where id = ${row}.environment_id) = ${row}.account_id`;
