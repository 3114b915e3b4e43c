import {
  type DocumentedOperation,
  type DocumentedResponse,
  isJsonSurface,
  isReference,
  json,
  type OpenApiDocument,
  operationsOf,
  type Schema,
} from './document.js';
import {
  addErrors,
  addRefusalPages,
  addRefusalsInForm,
  describeErrors,
  errorSchemas,
  reasonOf,
  transportCodes,
} from './errors.js';
import { eventData } from './event-data.js';
import { exampleOf } from './examples.js';
import { addHeaders, headerComponents, parameterComponents, shareParameters } from './headers.js';
import { describeParameters } from './parameters.js';
import { shareRefusals, shareSchemas } from './shared-schemas.js';
import { tags } from './tags.js';

/**
 * Completes the document that is made from the routes' schemas: error codes with their envelopes, examples, headers and
 * shared parts. Nothing here is written by hand for a single operation.
 */
export function completed(document: OpenApiDocument): OpenApiDocument {
  document.components.headers = headerComponents;
  document.components.parameters = parameterComponents;
  for (const { path, method, operation } of operationsOf(document)) {
    operation.security ??= [];
    letDefaultsOut(operation);
    letBodyOut(operation);
    if (isJsonSurface(path)) {
      addErrors(operation, transportCodes(method, operation));
      addRefusalPages(operation);
      describeParameters(operation);
    } else addRefusalsInForm(method, operation);
    addExamples(operation);
    const at = { path: examplePath(path, operation), method };
    const takesKeys = operation.parameters?.some((one) => 'name' in one && one.name === 'idempotency-key') ?? false;
    for (const [status, response] of Object.entries(operation.responses)) {
      if (isReference(response)) continue;
      addHeaders(status, response, takesKeys);
      describeOptionalBody(response);
      if (status >= '400') describeErrors(response, document, at);
      else addExample(response);
      if (response.description === 'Default Response') response.description = reasonOf(status);
    }
    shareParameters(operation);
  }
  document.components.schemas = { ...document.components.schemas, ...errorSchemas, EventData: eventData };
  shareSchemas(document);
  shareRefusals(document);
  document.tags = tagsOf(document);
  return document;
}

/** Makes fields with a default optional: the validator fills them in before it checks which are required. */
function letDefaultsOut({ parameters = [], requestBody }: DocumentedOperation): void {
  for (const parameter of parameters) {
    if (!isReference(parameter) && parameter.schema.default !== undefined) parameter.required = false;
  }
  for (const media of Object.values(requestBody?.content ?? {})) media.schema = withoutDefaults(media.schema as Schema);
}

/** Makes a body optional if it may be null. */
function letBodyOut({ requestBody }: DocumentedOperation): void {
  const bodies = Object.values(requestBody?.content ?? {});
  if (requestBody && bodies.every(({ schema }) => (schema as Schema).nullable)) requestBody.required = false;
}

function withoutDefaults(schema: Schema): Schema {
  const { properties, required } = schema;
  if (schema.items) return { ...schema, items: withoutDefaults(schema.items) };
  if (!properties) return schema;
  const asked = required?.filter((name) => properties[name]?.default === undefined) ?? [];
  const { required: _, ...rest } = schema;
  return {
    ...rest,
    ...(asked.length > 0 && { required: asked }),
    properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, withoutDefaults(one)])),
  };
}

/** Moves `x-body-optional` from the schema, in which routes have to declare it, to the answer, to which it applies. */
function describeOptionalBody(response: DocumentedResponse): void {
  const media = response.content?.[json];
  const { 'x-body-optional': isOptional, ...schema } = (media?.schema ?? {}) as Schema;
  if (!media || !isOptional) return;
  media.schema = schema;
  response['x-body-optional'] = true;
}

function addExamples({ parameters = [], requestBody }: DocumentedOperation): void {
  for (const parameter of parameters) {
    if (!isReference(parameter) && parameter.in !== 'header') {
      parameter.example ??= exampleOf(parameter.schema, parameter.name);
    }
  }
  for (const media of Object.values(requestBody?.content ?? {})) {
    if (!isReference(media.schema)) media.example ??= exampleOf(media.schema);
  }
}

function addExample({ content = {} }: DocumentedResponse): void {
  const media = content[json];
  if (media && !isReference(media.schema)) media.example ??= exampleOf(media.schema as Schema);
}

const examplePath = (path: string, { parameters = [] }: DocumentedOperation): string =>
  path.replace(/\{(\w+)\}/g, (whole, name) => {
    const parameter = parameters.find((one) => 'name' in one && one.name === name && one.in === 'path');
    return parameter && 'example' in parameter ? String(parameter.example) : whole;
  });

function tagsOf(document: OpenApiDocument) {
  const used = new Set([...operationsOf(document)].flatMap(({ operation }) => operation.tags ?? []));
  const known = Object.keys(tags).filter((name) => used.delete(name));
  return [...known, ...used].map((name) => ({
    name,
    description: tags[name] ?? `Operations on ${name.toLowerCase()}.`,
  }));
}
