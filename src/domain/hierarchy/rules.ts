import type { Node } from '../../../entities/node.js';
import type { NodeType, NodeTypeSchema } from '../../../entities/node-type-schema.js';
import { DomainError } from '../errors.js';

/**
 * Built in: an Environment has exactly one node of this type, created with the Environment and never moved, deactivated
 * or deleted.
 */
export const rootType = 'root';
/** Nodes of this type also have a row in `organizations`. */
export const organizationType = 'organization';

type Types = Pick<NodeTypeSchema, 'nodeTypes'>;

/** @throws DomainError nodes.type_unknown */
export function typeOf({ nodeTypes }: Types, key: string): NodeType {
  const type = nodeTypes.find((each) => each.key === key);
  if (!type) throw new DomainError('nodes.type_unknown');
  return type;
}

/** `can_be_root` means "may stand right under the root" (contract §10). */
const mayStandUnder = (type: NodeType, parentType: string): boolean =>
  parentType === rootType ? type.can_be_root : type.allowed_parents.includes(parentType);

/** Levels below the root. */
const depthOf = ({ path }: Pick<Node, 'path'>): number => path.length - 1;

/**
 * Checks that a node of a type, with this many levels below it, may be under a parent.
 * @throws DomainError nodes.type_unknown, nodes.type_not_allowed, nodes.too_deep
 */
export function assertPlaceable(
  schema: Types & Pick<NodeTypeSchema, 'maxDepth'>,
  nodeType: string,
  parent: Pick<Node, 'path' | 'nodeType'>,
  levelsBelow = 0,
): void {
  if (!mayStandUnder(typeOf(schema, nodeType), parent.nodeType)) throw new DomainError('nodes.type_not_allowed');
  if (depthOf(parent) + 1 + levelsBelow > schema.maxDepth) throw new DomainError('nodes.too_deep');
}
