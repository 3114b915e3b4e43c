import { compiledSchema } from '../../src/domain/hierarchy/metadata-schemas.js';
import { assertHarmless } from '../../src/domain/hierarchy/patterns.js';
import { UnusableSchema } from '../../src/domain/hierarchy/unusable-schema.js';

/** JSON Schemas for the metadata of nodes come from tenants, and therefore possibly from attackers. */

const nested = (depth: number): object => (depth === 0 ? {} : { properties: { a: nested(depth - 1) } });
const doubling = Object.fromEntries(
  Array.from({ length: 30 }, (_, i) => [
    `d${i}`,
    i === 0 ? { type: 'string' } : { allOf: [{ $ref: `#/$defs/d${i - 1}` }, { $ref: `#/$defs/d${i - 1}` }] },
  ]),
);

test.each<[string, object, RegExp]>([
  ['a reference to somewhere else', { $ref: 'https://example.com/schema' }, /may only have a \$ref/],
  ['a reference into itself', { $ref: '#' }, /may only have a \$ref/],
  ['a reference to nothing', { $ref: '#/$defs/a' }, /does not have/],
  [
    'circular references',
    { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
    /leads back/,
  ],
  [
    'an endless tree',
    { $defs: { a: { properties: { x: { $ref: '#/$defs/a' } } } }, properties: { a: { $ref: '#/$defs/a' } } },
    /leads back/,
  ],
  ['references that double', { $defs: doubling, properties: { a: { $ref: '#/$defs/d29' } } }, /too many/],
  ['an $id of its own', { $id: 'https://example.com/a' }, /must not have \$id/],
  ['$async', { $async: true }, /must not have \$async/],
  ['a dynamic reference', { properties: { a: { $dynamicRef: '#a' } } }, /must not have \$dynamicRef/],
  ['another dialect', { $schema: 'http://json-schema.org/draft-04/schema#' }, /another \$schema/],
  ['more than 16 KiB', { description: 'x'.repeat(17_000) }, /larger than 16 KiB/],
  ['too deep nesting', nested(40), /nested more than/],
  ['unlimited items that are compared with each other', { properties: { a: { uniqueItems: true } } }, /maxItems/],
  ['an unknown keyword', { requiredd: ['a'] }, /unknown keyword/],
  ['a keyword whose value has the wrong type', { properties: 7 }, /schema is invalid/],
  ['an unknown type', { type: 'text' }, /schema is invalid/],
  ['an unknown format', { properties: { a: { format: 'colour' } } }, /unknown format/],
  ['a pattern that is no regular expression', { properties: { a: { pattern: '(' } } }, /not a regular expression/],
  ['a pattern with exponential backtracking', { properties: { a: { pattern: '^(a+)+$' } } }, /exponentially long/],
  ['a name pattern with exponential backtracking', { patternProperties: { '^(a+)+$': {} } }, /exponentially long/],
])('a schema with %s is refused', (_, schema, why) => {
  expect(() => compiledSchema(schema)).toThrow(UnusableSchema);
  expect(() => compiledSchema(schema)).toThrow(why);
});

test.each([
  '^[a-z0-9]+(-[a-z0-9]+)*$',
  '^\\d{5}$',
  '^[A-Z]{2}\\d{2} ?(?:\\d{4} ?){4}$',
  '^(?:red|green|blue)$',
  '^\\p{Lu}\\p{L}*$',
  '^[^@\\s]+@[^@\\s]+$',
  '\\.pdf$',
  '^(?<year>\\d{4})-\\d\\d$',
  '^([A-Z]{3}){1,4}$',
])('the pattern %s is accepted', (pattern) => {
  expect(() => assertHarmless(pattern)).not.toThrow();
});

test.each([
  '(a*)*',
  '(a+)+b',
  '(a|a)*',
  '(a|aa)+$',
  '^(a?)*$',
  '(?:(a+))+',
  '(a{1,9}){2,}',
  '([a-z-]+-)+$',
  '(.*a){20}',
  `${'a?'.repeat(31)}${'a'.repeat(31)}`,
  '^\\d*\\d*\\d*\\d*x',
  '(?=a)b',
  '(?<!a)b',
  '(a)\\1',
  '(?<n>a)\\k<n>',
  'x'.repeat(300),
])('the pattern %s is refused', (pattern) => {
  expect(() => assertHarmless(pattern)).toThrow(UnusableSchema);
});

test('valid metadata is accepted, and invalid metadata gets where and why', () => {
  const schema = compiledSchema({
    type: 'object',
    required: ['tier'],
    additionalProperties: false,
    properties: {
      tier: { enum: ['gold', 'silver'] },
      id: { type: 'string', format: 'uuid' },
      tags: { type: 'array', items: { $ref: '#/$defs/tag' }, uniqueItems: true, maxItems: 5 },
    },
    $defs: { tag: { type: 'string', pattern: '^[a-z]+$', maxLength: 10 } },
  });
  expect(schema.check({ tier: 'gold', tags: ['a', 'b'] })).toBeNull();
  expect(schema.check({})).toMatchObject({ keyword: 'required' });
  expect(schema.check({ tier: 'iron' })).toMatchObject({ keyword: 'enum', instancePath: '/tier' });
  expect(schema.check({ tier: 'gold', tags: ['a', 'B'] })).toMatchObject({ instancePath: '/tags/1' });
  expect(schema.check({ tier: 'gold', x: 1 })).toMatchObject({ keyword: 'additionalProperties' });
});

test('a text longer than a pattern may be applied to does not match it', () => {
  const schema = compiledSchema({ properties: { a: { type: 'string', pattern: 'x' } } });
  expect(schema.check({ a: 'x'.repeat(1_000) })).toBeNull();
  expect(schema.check({ a: 'x'.repeat(1_001) })).toMatchObject({ keyword: 'pattern' });
});

test('the same text is compiled once', () => {
  const text = '{"properties":{"once":{"type":"string"}}}';
  expect(compiledSchema(JSON.parse(text))).toBe(compiledSchema(JSON.parse(text)));
});

test('a check that takes too long is aborted, and the next ones do not begin', () => {
  // A worst-case pattern: three quantifiers over the same text, from every position, many times over.
  const slow = { type: 'string', pattern: '[a-z0-9]*[a-z]*[0-9a-z]*!' };
  const schema = compiledSchema({ additionalProperties: slow });
  const metadata = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`k${i}`, `${'a'.repeat(999)}`]));
  const started = Date.now();
  const [first, second] = [schema.check(metadata), schema.check({ a: 'a' })];
  expect(Date.now() - started).toBeLessThan(60_000);
  expect([first, second]).toEqual(['too slow', 'too slow']);
  const other = compiledSchema({ additionalProperties: { type: 'number' } });
  expect(other.check({ a: 1 })).toBeNull();
});
