/** The parts of an OpenAPI 3.0 document that this folder reads and writes. */
export interface OpenApiDocument {
  openapi: string;
  tags?: { name: string; description: string }[];
  paths: Record<string, Partial<Record<string, DocumentedOperation>>>;
  components: Record<string, Record<string, unknown>>;
  [more: string]: unknown;
}

export interface DocumentedOperation {
  operationId: string;
  tags?: string[];
  description?: string;
  security?: Record<string, string[]>[];
  parameters?: (DocumentedParameter | Reference)[];
  requestBody?: { required?: boolean; content: Record<string, MediaType> };
  responses: Record<string, DocumentedResponse | Reference>;
  [more: `x-${string}`]: unknown;
}

export interface DocumentedParameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: unknown;
}

export interface DocumentedResponse {
  description: string;
  headers?: Record<string, unknown>;
  content?: Record<string, MediaType>;
  'x-error-codes'?: (string | null)[];
  /** Whether the answer may have no body although it declares one, which OpenAPI cannot express. */
  'x-body-optional'?: boolean;
}

export interface MediaType {
  schema: Schema | Reference;
  example?: unknown;
  examples?: Record<string, unknown>;
}

export interface Reference {
  $ref: string;
}

export interface Schema {
  type?: string;
  format?: string;
  pattern?: string;
  enum?: unknown[];
  /** Known values, to which more may be added; not an `enum`, since generated clients refuse other values. */
  'x-extensible-enum'?: string[];
  default?: unknown;
  example?: unknown;
  nullable?: boolean;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  uniqueItems?: boolean;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
  description?: string;
  title?: string;
  'x-error-codes'?: string[];
  'x-body-optional'?: boolean;
  /** The name of the resource for which this schema stands, if it cannot be written in full here. */
  'x-resource'?: string;
  $ref?: string;
}

const methods = ['get', 'put', 'post', 'patch', 'delete'] as const;

/** Yields every operation with its path and method, in the document's order. */
export function* operationsOf({ paths }: OpenApiDocument) {
  for (const [path, item] of Object.entries(paths)) {
    for (const method of methods) {
      const operation = item[method];
      if (operation) yield { path, method, operation };
    }
  }
}

export const json = 'application/json';
export const isReference = (part: object): part is Reference => '$ref' in part;

/** Returns whether a path's surface answers errors in the JSON envelope; OAuth, discovery, SCIM and pages do not. */
export const isJsonSurface = (path: string): boolean => /^\/(api|access|portal)\/v1\/|^\/v1\//.test(path);
