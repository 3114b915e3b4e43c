import { isReference, type MediaType, type OpenApiDocument, operationsOf, type Schema } from './document.js';
import { reasonOf } from './errors.js';

/**
 * Moves schemas that several operations share to named components: those with a `title`, and the bodies and answers
 * that the Public API and the Portal share, which are named after the operation.
 */
export function shareSchemas(document: OpenApiDocument): void {
  const shared = new Map<string, string>(); // by text
  const schemas = document.components.schemas as Record<string, unknown>;
  const share = (schema: Schema, name: string) => {
    const text = JSON.stringify(schema);
    const known = shared.get(text) ?? name;
    const taken = schemas[known];
    if (taken !== undefined && JSON.stringify(taken) !== text) return schema; // another one has the name
    shared.set(text, known);
    schemas[known] = schema;
    return { $ref: `#/components/schemas/${known}` };
  };
  const titled = (schema: Schema): Schema => {
    if (schema['x-resource']) return { $ref: `#/components/schemas/${schema['x-resource']}` };
    const { anyOf, ...own } = schema;
    const parts: Schema = { ...own, ...(anyOf && alternatives(anyOf, anyOf.map(titled))) };
    if (schema.properties) {
      parts.properties = Object.fromEntries(
        Object.entries(schema.properties).map(([name, one]) => [name, titled(one)]),
      );
    }
    if (schema.items) parts.items = titled(schema.items);
    // Generated Java does not compile with a set of an unnamed enum, nor Go with two named enums that share a value.
    if (parts.items?.enum) delete parts.uniqueItems;
    const { title, ...nameless } = parts;
    // OpenAPI 3.0 ignores `nullable` next to a `$ref`, and generators would make a second type with this name.
    if (schema.nullable) return nameless;
    return title ? (share(parts, title) as Schema) : parts;
  };
  for (const { operation } of operationsOf(document)) {
    const { operationId, requestBody, responses } = operation;
    const name = `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}`;
    for (const media of mediaOf(requestBody)) {
      const schema = titled(media.schema as Schema);
      media.schema = schema.type === 'object' ? share(schema, `${name}Request`) : schema;
    }
    for (const [status, response] of Object.entries(responses)) {
      if (isReference(response)) continue;
      for (const media of mediaOf(response)) {
        const schema = titled(media.schema as Schema);
        media.schema = schema.type === 'object' ? share(schema, nameOf(name, status)) : schema;
      }
    }
  }
}

/**
 * Returns the union of some schemas. If all are named, and a property has different values in each, that property is
 * the discriminator.
 * @param named the same schemas, replaced by references if they have a name
 */
function alternatives(all: Schema[], named: Schema[]): Partial<Schema> {
  const tellsApart = (name: string): boolean => {
    const values = all.flatMap(({ properties, required }) =>
      required?.includes(name) ? (properties?.[name]?.enum ?? [null]) : [null],
    );
    return !values.includes(null) && new Set(values).size === values.length;
  };
  const propertyName = Object.keys(all[0]?.properties ?? {}).find(tellsApart);
  if (!propertyName || !named.every(isReference)) return { anyOf: named };
  const mapping = all.flatMap(({ properties }, i) =>
    (properties?.[propertyName]?.enum ?? []).map((value) => [value, named[i]?.$ref]),
  );
  return { oneOf: named, discriminator: { propertyName, mapping: Object.fromEntries(mapping) } };
}

/** Returns the name of an answer's schema; the few that are neither 200 nor 201 have their status in it. */
const nameOf = (name: string, status: string): string =>
  status === '200' || status === '201' ? `${name}Response` : `${name}Response${status}`;

const mediaOf = (part: { content?: Record<string, MediaType> } | undefined): MediaType[] =>
  Object.values(part?.content ?? {}).filter(
    ({ schema }) => !isReference(schema) && ((schema as Schema).type === 'object' || 'anyOf' in schema),
  );

/** Moves the commonest form of refusals that are the same nearly everywhere, such as 429, to a shared component. */
export function shareRefusals(document: OpenApiDocument): void {
  const responses: Record<string, unknown> = {};
  for (const status of always) {
    const answers = [...operationsOf(document)].flatMap(({ operation: { responses: all } }) => {
      const response = all[status];
      return response ? [{ all, response, text: JSON.stringify(response) }] : [];
    });
    const shared = commonest(answers.map(({ text }) => text));
    const name = reasonOf(status).replaceAll(' ', '');
    for (const { all, response, text } of answers) {
      if (text !== shared) continue;
      responses[name] = response;
      all[status] = { $ref: `#/components/responses/${name}` };
    }
  }
  document.components.responses = responses;
}
const always = ['401', '413', '415', '429', '503'];

function commonest(texts: string[]): string | undefined {
  const times = new Map<string, number>();
  for (const text of texts) times.set(text, (times.get(text) ?? 0) + 1);
  return [...times].sort(([, one], [, other]) => other - one)[0]?.[0];
}
