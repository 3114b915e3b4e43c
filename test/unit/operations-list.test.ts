import { type OpenApiDocument, operationsOf } from '../../src/http/openapi/document.js';
import { openApiDocument } from '../../src/openapi-document.js';
import { expectGenerated } from '../support/generated.js';
import { operationsList } from '../support/operations-list.js';

let document: OpenApiDocument;
beforeAll(async () => {
  document = (await openApiDocument()) as OpenApiDocument;
});

test('every operation that is served is in the list of operations', () => {
  const list = operationsList(document).toLowerCase();
  // Surfaces that share declarations prefix their name to the declaration's.
  const isListed = (id: string) => list.includes(`| \`${id.toLowerCase()}\` |`);
  const ids = [...operationsOf(document)].map(({ operation }) => operation.operationId);
  expect(ids.filter((id) => !isListed(id) && !isListed(id.replace(/^(portal|authzen)/, '')))).toEqual([]);
});

test('docs/operations-list.md is what the declarations generate', async () => {
  await expectGenerated('docs/operations-list.md', 'operations', operationsList(document));
});
