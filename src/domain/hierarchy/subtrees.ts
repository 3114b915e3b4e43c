/**
 * SQL: whether a row of `nodes` is one of the nodes in `$3`, or below one. It uses the index on paths, which row-level
 * security would otherwise prevent (docs/decisions/0016). `$1` is the Account and `$2` the Environment.
 */
export const withinSubtreesSql = (alias: string): string =>
  `${alias}.id in (select gatehouse_subtree($1, $2, $3::uuid[]))`;
