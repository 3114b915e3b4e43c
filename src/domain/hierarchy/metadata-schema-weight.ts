import { assertHarmless } from './patterns.js';
import { UnusableSchema } from './unusable-schema.js';

const largest = 16 * 1024;
/** The most places in a schema, once each `$ref` is replaced by its target. */
const heaviest = 2_000;
const deepest = 32;
/** Keywords that give schemas names beyond their own text, or that change how Ajv treats them. */
const refused = [
  '$id',
  'id',
  '$anchor',
  '$dynamicRef',
  '$dynamicAnchor',
  '$recursiveRef',
  '$recursiveAnchor',
  '$async',
];
const dialect = 'https://json-schema.org/draft/2020-12/schema';
/** Below these keywords the names are the author's own, and no keywords. */
const byName = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependentRequired'];
const literal = ['const', 'enum', 'default', 'examples'];

/**
 * Limits the work that a schema can cause. References stay inside the schema, and none leads back to itself: otherwise
 * a small text could cause endless work.
 * @throws UnusableSchema
 */
export function weightOf(schema: object, text = JSON.stringify(schema)): number {
  if (Buffer.byteLength(text) > largest) throw new UnusableSchema('is larger than 16 KiB');
  if ('$schema' in schema && schema.$schema !== dialect)
    throw new UnusableSchema(`has another $schema than ${dialect}`);
  const weights = new Map<unknown, number>();
  const open = new Set<unknown>();

  function weigh(part: unknown, depth: number, isKeywords: boolean): number {
    if (typeof part !== 'object' || part === null) return 1;
    if (depth > deepest) throw new UnusableSchema(`is nested more than ${deepest} levels deep`);
    if (open.has(part)) throw new UnusableSchema('has a $ref that leads back to itself');
    const known = weights.get(part);
    if (known !== undefined) return known;
    open.add(part);
    let weight = 1;
    for (const [key, value] of Object.entries(part)) {
      weight +=
        isKeywords && !Array.isArray(part) ? weighKeyword(part, key, value, depth) : weigh(value, depth + 1, true);
      if (weight > heaviest) throw new UnusableSchema('stands for too many conditions');
    }
    open.delete(part);
    weights.set(part, weight);
    return weight;
  }

  function weighKeyword(part: object, key: string, value: unknown, depth: number): number {
    if (refused.includes(key)) throw new UnusableSchema(`must not have ${key}`);
    if (literal.includes(key)) return 1;
    if (key === '$ref') return weigh(targetOf(schema, value), depth + 1, true);
    if (key === 'pattern' && typeof value === 'string') assertHarmless(value);
    if (key === 'patternProperties') for (const pattern of Object.keys(Object(value))) assertHarmless(pattern);
    if (key === 'uniqueItems' && value === true) assertFewItems(part);
    return weigh(value, depth + 1, !byName.includes(key));
  }

  return weigh(schema, 0, true);
}

/** Each item is compared with every other. */
function assertFewItems(part: object): void {
  const { maxItems } = part as { maxItems?: unknown };
  if (typeof maxItems !== 'number' || maxItems > 200) {
    throw new UnusableSchema('must have maxItems of at most 200 beside uniqueItems');
  }
}

function targetOf(schema: object, ref: unknown): unknown {
  if (typeof ref !== 'string' || !/^#\/(\$defs|definitions)\/[^/]+$/.test(ref)) {
    throw new UnusableSchema('may only have a $ref to `#/$defs/…` of its own');
  }
  const [, where = '', name = ''] = ref.split('/');
  let key = name;
  try {
    key = decodeURIComponent(name);
  } catch {
    // not parsed any further
  }
  const names = (schema as Record<string, unknown>)[where];
  const unescaped = key.replaceAll('~1', '/').replaceAll('~0', '~');
  if (typeof names !== 'object' || names === null || !Object.hasOwn(names, unescaped)) {
    throw new UnusableSchema(`has a $ref to ${ref}, which it does not have`);
  }
  return (names as Record<string, unknown>)[unescaped];
}
