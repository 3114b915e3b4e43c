import {
  type DocumentedParameter,
  type MediaType,
  type OpenApiDocument,
  operationsOf,
  type Schema,
} from '../src/http/openapi/document.js';

const environmentPrefix = '/portal/v1/accounts/{accountSlug}/applications/{appSlug}/environments/{envSlug}';

/**
 * Returns the part of the document from which the client's types are made: the operations that servers call. An
 * operation that the Portal shares with the Public API is in it once, every refusal is the same envelope, and examples
 * and headers are left out.
 */
export function clientDocument(whole: object): object {
  const document = structuredClone(whole) as OpenApiDocument;
  const { paths } = document;
  for (const path of Object.keys(paths)) {
    const shared = path.startsWith(environmentPrefix) && paths[path.replace(environmentPrefix, '/api/v1')];
    if (shared || !/^\/(api|access|portal)\/v1\//.test(path)) delete paths[path];
  }
  for (const { operation } of operationsOf(document)) {
    const { responses, requestBody } = operation;
    for (const [status, response] of Object.entries(responses)) {
      if (status >= '400') delete responses[status];
      else if ('content' in response) withoutExamples(response.content);
      if ('headers' in response) delete response.headers;
    }
    responses.default = { $ref: '#/components/responses/Refusal' };
    withoutExamples(requestBody?.content);
    for (const parameter of operation.parameters ?? []) if ('example' in parameter) delete parameter.example;
  }
  const refusal = {
    description: 'Refused',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  };
  const { schemas = {} } = document.components;
  const parameters = structuredClone(document.components.parameters ?? {}) as Record<
    string,
    Partial<DocumentedParameter>
  >;
  for (const parameter of Object.values(parameters)) {
    delete parameter.example; // it would be repeated at every operation
    delete parameter.description;
  }
  const kept = used({ paths, refusal }, schemas).add('EventData');
  return {
    openapi: document.openapi,
    info: document.info,
    paths,
    components: {
      schemas: enumerated(Object.fromEntries(Object.entries(schemas).filter(([name]) => kept.has(name)))),
      parameters,
      responses: { Refusal: refusal },
    },
  };
}

function withoutExamples(content: Record<string, MediaType> = {}): void {
  for (const media of Object.values(content)) delete media.example;
}

/** Turns `x-extensible-enum` into `enum`: in types, the known values help, and refuse no response. */
function enumerated<P>(part: P): P {
  if (Array.isArray(part)) return part.map(enumerated) as P;
  if (typeof part !== 'object' || part === null) return part;
  const { 'x-extensible-enum': values, ...rest } = part as Schema;
  const same = Object.fromEntries(Object.entries(rest).map(([name, one]) => [name, enumerated(one)]));
  return { ...same, ...(values && { enum: rest.nullable ? [...values, null] : values }) } as P;
}

/** Returns the names of the schemas to which a part refers, directly or through other schemas. */
function used(part: unknown, schemas: Record<string, unknown>, found = new Set<string>()): Set<string> {
  if (typeof part !== 'object' || part === null) return found;
  for (const [key, value] of Object.entries(part)) {
    const name = key === '$ref' && /^#\/components\/schemas\/([^/]+)/.exec(String(value))?.[1];
    if (name && !found.has(name)) used(schemas[name], schemas, found.add(name));
    used(value, schemas, found);
  }
  return found;
}
