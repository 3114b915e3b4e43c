/** Those of the declared values that are given: a set reads back alike, and is no change, in whatever order it was sent. */
export const inDeclaredOrder = <T>(declared: readonly T[], given: readonly T[]): T[] =>
  declared.filter((one) => given.includes(one));
