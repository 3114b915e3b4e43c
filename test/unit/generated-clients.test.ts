import { clientDocument } from '../../scripts/client-document.js';
import {
  type DocumentedResponse,
  isJsonSurface,
  isReference,
  type MediaType,
  type OpenApiDocument,
  operationsOf,
  type Schema,
} from '../../src/http/openapi/document.js';
import { openApiDocument } from '../../src/openapi-document.js';
import { resolved } from '../support/document-schemas.js';

let document: OpenApiDocument;
beforeAll(async () => {
  document = (await openApiDocument()) as OpenApiDocument;
});

const schemaOf = ({ components }: OpenApiDocument, name: string) =>
  (components.schemas as Record<string, Schema>)[name];

test('an open set of values is no enumeration: generated code would refuse to read a new value', () => {
  const code = schemaOf(document, 'ErrorBody')?.properties?.code;
  expect(code).not.toHaveProperty('enum');
  expect(code?.['x-extensible-enum']).toContain('version.conflict');
  const state = schemaOf(document, 'ProcessOfResource')?.properties?.state;
  expect(state).not.toHaveProperty('enum');
  expect(state?.['x-extensible-enum']).toContain('pending');
  expect(state?.description).toMatch(/^Known values, to which more may be added: `pending`, /);
});

test('the client’s types have the known values', () => {
  const code = schemaOf(clientDocument(document) as OpenApiDocument, 'ErrorBody')?.properties?.code;
  expect(code?.enum).toContain('version.conflict');
  expect(code?.enum).toContain(null);
});

test('an administrator’s sign-in has one of several outcomes, distinguished by a property', () => {
  const outcome = schemaOf(document, 'LoginOutcome');
  const named = (name: string) => `#/components/schemas/${name}`;
  expect(schemaOf(document, 'LoginResponse')?.properties?.data).toEqual({ $ref: named('LoginOutcome') });
  expect(outcome?.discriminator).toEqual({
    propertyName: 'outcome',
    mapping: {
      authenticated: named('SignedInOutcome'),
      account_required: named('SignedInOutcome'),
      mfa_required: named('MfaRequiredOutcome'),
      application_selection_required: named('ApplicationSelectionRequiredOutcome'),
      sso_required: named('SsoRequiredOutcome'),
    },
  });
  expect(outcome?.oneOf).toHaveLength(4);
});

/** Returns what generators would have to name themselves, or would leave without a name, as Go does. */
function nameless(schema: Schema, path: string, isNamed: (one: Schema) => boolean, seen = new Set<string>()): string[] {
  if (seen.has(schema.$ref ?? '')) return [];
  const { properties = {}, items, anyOf = [], oneOf = [] } = resolved(document, schema) as Schema;
  const within = new Set(schema.$ref ? [...seen, schema.$ref] : seen);
  const parts = [...Object.entries(properties), ...[...anyOf, ...oneOf].entries()];
  return [
    ...(items && !isNamed(items) ? [`${path}[]`] : []),
    ...(items ? nameless(items, `${path}[]`, isNamed, within) : []),
    ...parts.flatMap(([name, one]) => nameless(one, `${path}.${name}`, isNamed, within)),
  ];
}
const bodies = () =>
  [...operationsOf(document)]
    .filter(({ path }) => isJsonSurface(path))
    .flatMap(({ operation: { operationId, requestBody, responses } }) =>
      [requestBody, ...Object.values(responses).map((one) => resolved(document, one))].flatMap((part) =>
        Object.values((part as { content?: Record<string, MediaType> } | undefined)?.content ?? {}).map(
          ({ schema }) => ({
            operationId,
            schema: schema as Schema,
          }),
        ),
      ),
    );

test('the objects of every array in requests and answers have a name', () => {
  const isNamed = (one: Schema) => isReference(one) || !one.properties;
  const found = bodies().flatMap(({ operationId, schema }) => nameless(schema, operationId, isNamed));
  expect([...new Set(found)]).toEqual([]);
});

test('the values of every set have a name: Java knows no set of an unnamed enumeration', () => {
  const found: string[] = [];
  const gather = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const { items } = value as Schema;
    if ('uniqueItems' in value && items?.enum) found.push(path);
    for (const [name, one] of Object.entries(value)) gather(one, `${path}/${name}`);
  };
  gather(document, '');
  expect(found).toEqual([]);
});

test('no two named enumerations share a value: Go has a constant for each', () => {
  const named = Object.values(document.components.schemas as Record<string, Schema>).flatMap((one) => one.enum ?? []);
  expect(named).toContain('recovery_code');
  expect(named.filter((value, i) => named.indexOf(value) !== i)).toEqual([]);
});

test('an ID in an answer is declared as a UUID: it can be sent as it is where one is required', () => {
  // Of other systems, OAuth, Temporal, AuthZEN; and the subject of an event or audit row may be anything.
  const others = ['client_id', 'external_id', 'oidc_client_id', 'saml_entity_id', 'entity_id', 'workflow_id', 'run_id'];
  const ofAnything = ['actor_id', 'resource_id'];
  const found = new Set<string>();
  const gather = (schema: Schema, owner: string, seen: readonly unknown[]): void => {
    const { title = owner, properties = {}, items, anyOf = [], oneOf = [] } = resolved(document, schema) as Schema;
    if (seen.includes(schema.$ref)) return;
    const within = schema.$ref ? [...seen, schema.$ref] : seen;
    for (const [name, one] of Object.entries(properties)) {
      const { type, format } = resolved(document, one) as Schema;
      const isId = /(^|_)id$|^invited_by$/.test(name) && ![...others, ...ofAnything].includes(name);
      if (isId && type === 'string' && format !== 'uuid') found.add(`${title}.${name}`);
      gather(one, `${title}.${name}`, within);
    }
    for (const one of [...(items ? [items] : []), ...anyOf, ...oneOf]) gather(one, title, within);
  };
  for (const { path, operation } of operationsOf(document)) {
    if (!/^\/(api|portal)\/v1\//.test(path)) continue;
    for (const response of Object.values(operation.responses)) {
      const { content = {} } = resolved(document, response) as { content?: Record<string, MediaType> };
      for (const { schema } of Object.values(content)) gather(schema as Schema, operation.operationId, []);
    }
  }
  expect([...found]).toEqual([]);
});

test('seconds since 1970 do not end in 2038', () => {
  const { iat, exp } = schemaOf(document, 'IntrospectTokenResponse')?.properties ?? {};
  const { updated_at: updatedAt } = schemaOf(document, 'GetUserinfoResponse')?.properties ?? {};
  expect([iat?.format, exp?.format, updatedAt?.format]).toEqual(['int64', 'int64', 'int64']);
});

test('an export is a file, which clients treat as bytes', () => {
  const response = document.paths['/api/v1/audit-logs/export']?.get?.responses[200] as DocumentedResponse | undefined;
  const content = response?.content ?? {};
  expect(Object.entries(content).map(([type, { schema }]) => [type, (schema as Schema).format])).toEqual([
    ['application/x-ndjson', 'binary'],
    ['text/csv', 'binary'],
  ]);
});
