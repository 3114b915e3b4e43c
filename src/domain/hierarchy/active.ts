/** SQL: whether a node and all above it are active, by its path. At or below an inactive one nothing counts (contract §5). */
export const isActive = (path: string): string =>
  `not exists (select from nodes off where off.id = any(${path}) and off.status = 'inactive')`;
