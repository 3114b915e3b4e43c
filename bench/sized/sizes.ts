/** Two Environments that differ in nothing but their size, so that what grows with it shows. */
export const sizeNames = ['small', 'large'] as const;
export type SizeName = (typeof sizeNames)[number];

export interface Size {
  identities: number;
  /** With the root, on eight levels. */
  nodes: number;
  roleAssignments: number;
  /** Nodes beside them that are moved together; as many in both, so that only what is around them differs. */
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
