/** What this folder reads and writes of an OpenAPI 3.0 document. */
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
  /** Whether it may come without the body that it declares, which OpenAPI has no words for. */
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
  /** Values that are known, and may become more: no `enum`, which generated clients hold an answer to. */
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
  /** The name of the resource that it is, where it cannot be said whole. */
  'x-resource'?: string;
  $ref?: string;
}

const methods = ['get', 'put', 'post', 'patch', 'delete'] as const;

/** Every operation with its path and method, in the document's order. */
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

/** The surfaces that speak JSON and answer errors in the envelope; the others are OAuth's endpoints, discovery and pages. */
export const isJsonSurface = (path: string): boolean => /^\/(api|access|portal)\/v1\/|^\/v1\//.test(path);
