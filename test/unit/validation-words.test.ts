import { type OpenApiDocument, operationsOf } from '../../src/http/openapi/document.js';
import { wordsOf } from '../../src/http/surfaces/validation-words.js';
import { openApiDocument } from '../../src/openapi-document.js';

const raw = 'must match pattern';
const patternsIn = (schema: unknown): string[] =>
  Object.entries(schema ?? {}).flatMap(([name, value]) =>
    name === 'pattern' && typeof value === 'string' ? [value] : typeof value === 'object' ? patternsIn(value) : [],
  );

test('no caller sees a pattern: what it requires is said in words', async () => {
  const document = (await openApiDocument()) as OpenApiDocument;
  const bodies = [...operationsOf(document)].map(({ operation }) => operation.requestBody);
  const queries = [...operationsOf(document)].map(({ operation }) =>
    (operation.parameters ?? []).filter((parameter) => 'in' in parameter && parameter.in === 'query'),
  );
  const patterns = new Set(patternsIn([bodies, queries, document.components?.schemas]));
  expect(patterns.size).toBeGreaterThan(5);
  const unsaid = [...patterns].filter(
    (pattern) => wordsOf({ keyword: 'pattern', params: { pattern }, message: raw }) === raw,
  );
  expect(unsaid).toEqual([]);
});

test('an enumeration, a format and a missing field are reported with what would be right', () => {
  const said = (keyword: string, params: object) => wordsOf({ keyword, params, message: raw });
  expect(said('enum', { allowedValues: ['active', 'inactive', null] })).toBe('must be one of active, inactive, null');
  expect(said('format', { format: 'uuid' })).toBe('must be a UUID');
  expect(said('required', { missingProperty: 'email' })).toBe('is missing');
  expect(said('additionalProperties', { known: ['name', 'slug'] })).toBe(
    'is not supported here; supported: name, slug',
  );
  expect(said('additionalProperties', { known: [] })).toBe('is not supported here');
  expect(said('minLength', { limit: 1 })).toBe('must have at least 1 character');
  expect(said('maxItems', { limit: 50 })).toBe('must have at most 50 items');
  expect(said('uniqueItems', { i: 1, j: 0 })).toBe('must not have the same item twice');
  expect(said('const', { allowedValue: true })).toBe('must be true');
  expect(said('type', { type: 'integer' })).toBe('must be an integer');
  expect(said('type', { type: ['string', 'null'] })).toBe('must be a string or null');
  expect(said('minimum', { limit: 1 })).toBe(raw);
  const noBody = { keyword: 'type', params: { type: 'object' }, instancePath: '', message: raw };
  expect(wordsOf(noBody)).toBe('the body must be a JSON object');
});
