import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { OpenApiDocument, Schema } from '../../src/http/openapi/document.js';

export interface Schemas {
  /** Returns how a value deviates from a schema of the document; properties that the schema lacks are errors too. */
  complaints(schema: object, value: unknown): string[];
}

/** Returns the document's schemas, each compiled on first use. */
export function createSchemas(document: OpenApiDocument): Schemas {
  const ajv = new Ajv({ strict: false, allErrors: true });
  (addFormats as unknown as (ajv: Ajv) => void)(ajv);
  ajv.addFormat('idn-email', true); // the service's own format, for anything typed to be looked up
  ajv.addSchema({ $id: named, components: { schemas: closedEach(document.components.schemas as Named) } });
  const compiled = new Map<string, ValidateFunction>();
  return {
    complaints(schema, value) {
      const key = JSON.stringify(schema);
      const validate = compiled.get(key) ?? ajv.compile(closed(schema) as object);
      compiled.set(key, validate);
      if (validate(value)) return [];
      return (validate.errors ?? []).map(({ instancePath, message, params }) =>
        [instancePath || '/', message, JSON.stringify(params)].join(' '),
      );
    },
  };
}
/** The validator's id for the schemas that have names. */
const named = 'document';
type Named = Record<string, Schema>;

/** Returns the part that a local reference names, or the part itself. */
export function resolved(document: OpenApiDocument, part: object): unknown {
  const { $ref } = part as { $ref?: string };
  if (!$ref) return part;
  const steps = $ref.slice('#/'.length).split('/');
  return steps.reduce((value: unknown, step) => (value as Record<string, unknown>)[step], document);
}

/** Returns a copy that allows only the properties it names. Its references lead to such copies too. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const {
    properties,
    items,
    anyOf,
    oneOf,
    discriminator: ___,
    example: _,
    default: __,
    $ref,
    'x-extensible-enum': known,
    ...rest
  } = schema as Schema;
  if ($ref) return { $ref: `${named}${$ref}` };
  return {
    ...rest,
    ...(known && { enum: rest.nullable ? [...known, null] : known }), // values of this release: there are no others
    ...(items && { items: closed(items) }),
    ...(anyOf && { anyOf: closed(anyOf) }),
    ...(oneOf && { oneOf: closed(oneOf) }),
    ...(properties && {
      properties: closedEach(properties),
      additionalProperties: rest.additionalProperties ?? false,
    }),
  };
}
const closedEach = (schemas: Named) =>
  Object.fromEntries(Object.entries(schemas).map(([name, one]) => [name, closed(one)]));

/** Returns the document with local references replaced by their targets, for readers of schemas part by part. */
export function withoutReferences<D>(document: D): D {
  const whole = document as unknown as OpenApiDocument;
  const known = new Map<object, object>();
  const copy = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part;
    if (Array.isArray(part)) return part.map(copy);
    const meant = resolved(whole, part) as object;
    const before = known.get(meant);
    if (before) return before;
    const made: Record<string, unknown> = {};
    known.set(meant, made); // before its parts: a schema may contain itself
    for (const [name, one] of Object.entries(meant)) made[name] = copy(one);
    return made;
  };
  return { ...document, paths: copy(whole.paths) };
}
