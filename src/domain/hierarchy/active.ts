/**
 * SQL: whether a node and all above it are active, by its path. At or below an inactive one nothing counts (contract §5).
 * @param path with the alias of its table: without it, it would be that of the nodes that are looked through
 */
export const isActive = (path: `${string}.path`): string =>
  `not exists (select from nodes off where off.id = any(${path}) and off.status = 'inactive')`;
