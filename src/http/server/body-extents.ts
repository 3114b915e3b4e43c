/** The size of a JSON text, by its parts. */
export interface Extent {
  /** Members of objects and elements of arrays, all together; an empty one counts as one. */
  parts: number;
  /** Members or elements of the largest object or array. */
  widest: number;
}

interface Shape {
  type?: string;
  properties?: Record<string, Shape>;
  additionalProperties?: unknown;
  items?: Shape;
  maxItems?: number;
  uniqueItems?: boolean;
  enum?: unknown[];
  anyOf?: Shape[];
  /** For a value that the schema leaves open: the domain refuses larger ones. */
  'x-max-bytes'?: number;
}

const nothing: Extent = { parts: 0, widest: 0 };
const known = new WeakMap<object, Extent>();

/** How much more is still parsed: somebody with a few parts too many is told which they are. */
const mistakes = 1000;

/**
 * Returns the largest body that is parsed for a schema: twice what the schema allows (a name may come twice), and a
 * thousand parts more. Any size if the schema leaves something open; a thousand parts without a schema, which only
 * forms have.
 */
export function worthReading(schema: unknown): Extent {
  if (typeof schema !== 'object' || schema === null) return { parts: mistakes, widest: mistakes };
  const found = known.get(schema);
  if (found) return found;
  const { parts, widest } = extentOf(schema as Shape);
  const extent = { parts: 2 * parts + mistakes, widest: 2 * widest + mistakes };
  known.set(schema, extent);
  return extent;
}

/** Returns the size of the largest value that a schema allows. */
function extentOf(shape: Shape): Extent {
  const { type, anyOf, 'x-max-bytes': bytes } = shape;
  if (bytes !== undefined) return { parts: bytes, widest: bytes / 2 }; // `[0,0` and so on
  if (anyOf) return anyOf.map(extentOf).reduce(larger, nothing);
  if (type === 'object') return ofObject(shape);
  return type === 'array' ? ofArray(shape) : nothing;
}

function ofObject({ properties = {}, additionalProperties }: Shape): Extent {
  const below = Object.values(properties).map(extentOf);
  const count = additionalProperties === false ? Math.max(1, below.length) : Number.POSITIVE_INFINITY;
  return below.reduce(
    (all, { parts, widest }) => ({ parts: all.parts + parts, widest: Math.max(all.widest, widest) }),
    { parts: count, widest: count },
  );
}

function ofArray({ items = {}, maxItems, uniqueItems }: Shape): Extent {
  const count = maxItems ?? (uniqueItems && items.enum ? items.enum.length : Number.POSITIVE_INFINITY);
  const { parts, widest } = extentOf(items);
  return { parts: count + (parts && count * parts), widest: Math.max(count, widest) };
}

const larger = (one: Extent, other: Extent): Extent => ({
  parts: Math.max(one.parts, other.parts),
  widest: Math.max(one.widest, other.widest),
});
