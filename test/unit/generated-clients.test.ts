import { clientDocument } from '../../scripts/client-document.js';
import type { OpenApiDocument, Schema } from '../../src/http/openapi/document.js';
import { openApiDocument } from '../../src/openapi-document.js';

let document: OpenApiDocument;
beforeAll(async () => {
  document = (await openApiDocument()) as OpenApiDocument;
});

const schemaOf = ({ components }: OpenApiDocument, name: string) => (components.schemas as Record<string, Schema>)[name];

test('what a release may add to is no enumeration: what generators make of one refuses to read another value', () => {
  const code = schemaOf(document, 'ErrorBody')?.properties?.code;
  expect(code).not.toHaveProperty('enum');
  expect(code?.['x-extensible-enum']).toContain('version.conflict');
  const state = schemaOf(document, 'ProcessOfResource')?.properties?.state;
  expect(state).not.toHaveProperty('enum');
  expect(state?.description).toMatch(/^Known values, to which more may be added: `pending`, /);
});

test('the types of the client have the values that are known', () => {
  const code = schemaOf(clientDocument(document) as OpenApiDocument, 'ErrorBody')?.properties?.code;
  expect(code?.enum).toContain('version.conflict');
  expect(code?.enum).toContain(null);
});
