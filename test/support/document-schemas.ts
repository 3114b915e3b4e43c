import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { OpenApiDocument, Schema } from '../../src/http/openapi/document.js';

export interface Schemas {
  /** What is wrong with a value by a schema of the document; what a schema does not name is wrong too. */
  complaints(schema: object, value: unknown): string[];
}

/** The document's schemas, each compiled when it is first asked for. */
export function createSchemas(document: OpenApiDocument): Schemas {
  const ajv = new Ajv({ strict: false, allErrors: true });
  (addFormats as unknown as (ajv: Ajv) => void)(ajv);
  ajv.addFormat('idn-email', true); // the service's own, of whatever is typed to be looked up
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
/** Where the validator knows the schemas that have names. */
const named = 'document';
type Named = Record<string, Schema>;

/** The part that a local reference names, or the part itself. */
export function resolved(document: OpenApiDocument, part: object): unknown {
  const { $ref } = part as { $ref?: string };
  if (!$ref) return part;
  const steps = $ref.slice('#/'.length).split('/');
  return steps.reduce((value: unknown, step) => (value as Record<string, unknown>)[step], document);
}

/** A copy that allows no property which it does not name. References lead to such copies, too. */
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
    ...(known && { enum: rest.nullable ? [...known, null] : known }), // of this release, there are no others
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

/** The document with every local reference replaced by what it names, for who reads schemas part by part. */
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
    known.set(meant, made); // before its parts: one may hold itself
    for (const [name, one] of Object.entries(meant)) made[name] = copy(one);
    return made;
  };
  return { ...document, paths: copy(whole.paths) };
}
