/** Two Environments that differ only in their size, which shows what grows with the size. */
export const sizeNames = ['small', 'large'] as const;
export type SizeName = (typeof sizeNames)[number];

export interface Size {
  identities: number;
  /** Including the root, on eight levels. */
  nodes: number;
  roleAssignments: number;
  /** Additional nodes that are moved together: the same number in both, so that only the rest of the tree differs. */
  moved: number;
}

const tenfold = ({ identities, nodes, roleAssignments, moved }: Size): Size => ({
  identities: identities * 10,
  nodes: nodes * 10,
  roleAssignments: roleAssignments * 10,
  moved,
});

const fullSize: Size = { identities: 10_000, nodes: 1000, roleAssignments: 5000, moved: 1000 };
const quickSize: Size = { identities: 1000, nodes: 200, roleAssignments: 500, moved: 100 };

export const sizesOf = (quick: boolean): Record<SizeName, Size> => {
  const small = quick ? quickSize : fullSize;
  return { small, large: tenfold(small) };
};
