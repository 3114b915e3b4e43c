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
  const compiled = new Map<string, ValidateFunction>();
  return {
    complaints(schema, value) {
      const key = JSON.stringify(schema);
      const validate = compiled.get(key) ?? ajv.compile(closed(document, schema) as object);
      compiled.set(key, validate);
      if (validate(value)) return [];
      return (validate.errors ?? []).map(({ instancePath, message, params }) =>
        [instancePath || '/', message, JSON.stringify(params)].join(' '),
      );
    },
  };
}

/** The part that a local reference names, or the part itself. */
export function resolved(document: OpenApiDocument, part: object): unknown {
  const { $ref } = part as { $ref?: string };
  if (!$ref) return part;
  const steps = $ref.slice('#/'.length).split('/');
  return steps.reduce((value: unknown, step) => (value as Record<string, unknown>)[step], document);
}

/** A copy without references that allows no property which it does not name. */
function closed(document: OpenApiDocument, schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map((one) => closed(document, one));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { properties, items, anyOf, example: _, default: __, ...rest } = resolvedSchema(document, schema);
  return {
    ...rest,
    ...(items && { items: closed(document, items) }),
    ...(anyOf && { anyOf: closed(document, anyOf) }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, closed(document, one)])),
      additionalProperties: rest.additionalProperties ?? false,
    }),
  };
}

function resolvedSchema(document: OpenApiDocument, schema: object): Schema {
  const whole = resolved(document, schema) as Schema;
  return whole === schema ? whole : resolvedSchema(document, whole);
}

/** The document with every local reference replaced by what it names, for who reads schemas part by part. */
export function withoutReferences<D>(document: D): D {
  const whole = document as unknown as OpenApiDocument;
  const known = new Map<object, unknown>();
  const copy = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part;
    if (Array.isArray(part)) return part.map(copy);
    const named = resolved(whole, part) as object;
    if (!known.has(named)) {
      const values = Object.entries(named);
      known.set(
        named,
        named === part ? Object.fromEntries(values.map(([name, one]) => [name, copy(one)])) : copy(named),
      );
    }
    return known.get(named);
  };
  return { ...document, paths: copy(whole.paths) };
}
