import { text } from 'node:stream/consumers';
import type { VisibleNode } from '../../src/domain/hierarchy/tree.js';
import { presentVisibleNode } from '../../src/http/operations/node-views.js';
import { treeInPieces } from '../../src/http/operations/tree-in-pieces.js';

const nodeOf = (id: string, parentNodeId: string | null, more: Partial<VisibleNode> = {}): VisibleNode => ({
  id,
  parentNodeId,
  applicationId: 'app',
  nodeType: 'unit',
  name: `Node "${id}"`,
  description: null,
  slug: id,
  status: 'active',
  metadata: { of: id },
  version: 1,
  isVisible: true,
  isManaged: false,
  createdAt: new Date(0),
  updatedAt: new Date(1000),
  ...more,
});
const shown = (node: VisibleNode, children: object[] = []) => ({
  ...JSON.parse(JSON.stringify(presentVisibleNode(node))),
  children,
});

test('nodes are written below their parents, in their order', async () => {
  const [root, a, b] = [nodeOf('root', null), nodeOf('a', 'root'), nodeOf('b', 'root', { isVisible: false })];
  const [below, last, stray] = [nodeOf('below', 'b'), nodeOf('last', 'root'), nodeOf('stray', 'elsewhere')];
  expect(JSON.parse(await text(treeInPieces([a, below, b, root, last, stray])))).toEqual({
    data: shown(root, [shown(a), shown(b, [shown(below)]), shown(last)]),
  });
  expect(JSON.parse(await text(treeInPieces([root])))).toEqual({ data: shown(root) });
});

test('a tree may be as deep as it is large', async () => {
  const chain = Array.from({ length: 20_000 }, (_, i) => nodeOf(`n${i}`, i === 0 ? null : `n${i - 1}`));
  const written = await text(treeInPieces(chain));
  expect(written.match(/"id":/g)).toHaveLength(20_000);
  expect(written.endsWith(`"children":[${']}'.repeat(20_000)}}`)).toBe(true);
});

test('other work has its turns between pieces', async () => {
  const many = [nodeOf('root', null), ...Array.from({ length: 2000 }, (_, i) => nodeOf(`n${i}`, 'root'))];
  let turns = 0;
  let isRead = false;
  const others = () => {
    turns += 1;
    if (!isRead) setImmediate(others);
  };
  setImmediate(others);
  let pieces = 0;
  for await (const piece of treeInPieces(many)) {
    expect(piece.length).toBeLessThan(70_000);
    pieces += 1;
  }
  isRead = true;
  expect(pieces).toBeGreaterThan(5);
  expect(turns).toBeGreaterThanOrEqual(pieces - 1);
});

test('without a root the tree is refused', () => {
  expect(() => treeInPieces([nodeOf('a', 'root')])).toThrow(expect.objectContaining({ code: 'nodes.node_not_found' }));
});
