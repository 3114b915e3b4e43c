import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { DomainError } from '../../domain/errors.js';
import type { VisibleNode } from '../../domain/hierarchy/tree.js';
import { buildSerializer } from '../server/serialization.js';
import { inBytes } from '../surfaces/proofs.js';
import { presentVisibleNode, VisibleNodeSchema } from './node-views.js';

/** Characters of a piece, one or two milliseconds of work, so that a large tree does not delay other requests. */
const pieceOf = 64 * 1024;

/**
 * Returns `{ data }` with the root, each node with its `children` in the given order, as JSON that is written no faster
 * than the caller reads it. Nodes whose parent is not among them are left out.
 * @throws DomainError nodes.node_not_found if there is no root: the Environment is being removed
 */
export function treeInPieces(nodes: readonly VisibleNode[]): Readable {
  const below = new Map<string | null, VisibleNode[]>();
  for (const node of nodes) {
    const siblings = below.get(node.parentNodeId);
    if (siblings) siblings.push(node);
    else below.set(node.parentNodeId, [node]);
  }
  const [root] = below.get(null) ?? [];
  if (!root) throw new DomainError('nodes.node_not_found');
  return Readable.from(inPieces(branch(root, below)), inBytes);
}

function* branch(root: VisibleNode, below: ReadonlyMap<string | null, VisibleNode[]>) {
  yield `{"data":${opened(root)}`;
  const open = [(below.get(root.id) ?? []).values()]; // no recursion: a tree may be deep
  let isFirst = true;
  for (let children = open.at(-1); children; children = open.at(-1)) {
    const { value: node, done } = children.next();
    if (done) {
      open.pop();
      yield ']}';
    } else {
      yield isFirst ? opened(node) : `,${opened(node)}`;
      open.push((below.get(node.id) ?? []).values());
    }
    isFirst = !done;
  }
  yield '}';
}

const opened = (node: VisibleNode) => `${inJson(presentVisibleNode(node)).slice(0, -1)},"children":[`;

/** Serializes a node as all other answers do, in half of the time that `JSON.stringify` takes. */
const inJson = buildSerializer({})({ schema: VisibleNodeSchema, method: 'GET', url: '/nodes/tree', httpStatus: '200' });

async function* inPieces(texts: Iterable<string>) {
  let piece = '';
  for (const text of texts) {
    piece += text;
    if (piece.length < pieceOf) continue;
    yield piece;
    piece = '';
    await setImmediate(); // otherwise, a socket that accepts each piece at once would keep the process from all else
  }
  yield piece;
}
