/**
 * The declared values that are in the given set, in declared order: a set reads back the same, and counts as unchanged,
 * whatever the order in which it was sent.
 */
export const inDeclaredOrder = <T>(declared: readonly T[], given: readonly T[]): T[] =>
  declared.filter((one) => given.includes(one));
