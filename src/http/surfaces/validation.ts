import { Ajv, type ErrorObject, type FuncKeywordDefinition, type ValidateFunction } from 'ajv';
import type { DataValidationCxt } from 'ajv/dist/types/index.js';
import addFormats, { type FormatsPlugin } from 'ajv-formats';
import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify';
import type { ErrorDetail } from '../../domain/errors.js';
import { isMailAddress } from '../../domain/logins/address.js';
import { isUuid, uuid } from '../../platform/uuid.js';
import { pathId } from './path-ids.js';
import { wordsOf } from './validation-words.js';

/** As many findings as an answer shows for a thousand elements, 20 each; validation ends when there are more. */
export const maxFindings = 20_000;

/** Makes the validator's compiled code end after that many findings. None of them could be undone by what follows. */
const endingInTime = (code: string): string => {
  const [, name] = /\bfunction (validate\d+)\(/.exec(code) ?? [];
  return name === undefined
    ? code
    : code.replaceAll('errors++;', `if(++errors>=${maxFindings}){${name}.errors = vErrors;return false;}`);
};
const options = {
  allErrors: true,
  useDefaults: true,
  allowUnionTypes: true,
  strict: false,
  code: { process: endingInTime },
} as const;
const formats = addFormats as unknown as (ajv: Ajv, formats: string[]) => Ajv;
const isUri = (addFormats as unknown as FormatsPlugin).get('uri') as (text: string) => boolean;
/** Puts a text into lower case if it is an id. */
const lowerCaseId: FuncKeywordDefinition = {
  keyword: 'lowerCaseId',
  type: 'string',
  schema: false,
  modifying: true,
  errors: false,
  validate(text: string, at?: DataValidationCxt) {
    if (at && isUuid(text)) at.parentData[at.parentDataProperty] = text.toLowerCase();
    return true;
  },
};
// Values are validated as they were sent: by default Fastify would turn a null into "" and drop unknown fields.
const ajv = formats(new Ajv({ ...options, coerceTypes: false, removeAdditional: false }), ['date-time'])
  .addFormat('uri', (text) => isUri(text) && URL.canParse(text)) // `https://` is a URI, and no URL: it has no host
  .addFormat('email', isMailAddress)
  .addFormat('idn-email', /^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u) // may be a stored address, from before there were bounds
  .addFormat('uuid', uuid)
  .addKeyword(lowerCaseId);

/** An integer in a URL; JavaScript, and the validator's own coercion, would also accept `0x10` and `1e1`. */
export const integerForm = /^-?\d+$/;

/** The form of values that are not text, in a URL, where everything is text. */
const written: Record<string, { form: RegExp; read: (text: string) => unknown }> = {
  integer: { form: integerForm, read: Number },
  boolean: { form: /^(true|false)$/, read: (text) => text === 'true' },
};

/** Parses the texts of a query that its schema types differently. Any other form stays text, which is then refused. */
function readerOf(schema: unknown): (data: Record<string, unknown>) => void {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string }> };
  const others = Object.entries(properties).flatMap(([name, { type = '' }]) => {
    const as = written[type];
    return as ? { name, ...as } : [];
  });
  return (data) => {
    for (const { name, form, read } of others) {
      const text = data[name];
      if (typeof text === 'string' && form.test(text)) data[name] = read(text);
    }
  };
}

/** Replaces a malformed id in a path by a valid one that no resource has. */
function pathIdsOf(schema: unknown): (params: Record<string, unknown>) => void {
  const { properties = {} } = schema as { properties?: Record<string, { format?: string }> };
  const ids = Object.keys(properties).filter((name) => properties[name]?.format === 'uuid');
  return (params) => {
    for (const name of ids) params[name] = pathId(String(params[name]));
  };
}

/** Compiles a validator at the first request that needs it: to compile all would be most of a process's start. */
export const validatorCompiler: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  let compiled: ValidateFunction | undefined;
  const known = new Map<string, string[]>();
  const readText = httpPart === 'body' ? undefined : httpPart === 'params' ? pathIdsOf(schema) : readerOf(schema);
  const validate = (data: unknown) => {
    compiled ??= ajv.compile(withLowerCaseIds(schema) as object);
    readText?.(data as Record<string, unknown>);
    const valid = compiled(data);
    validate.errors = compiled.errors;
    for (const { keyword, params, schemaPath } of compiled.errors ?? []) {
      if (keyword !== 'additionalProperties') continue;
      // Somebody who mistyped a name gets the known ones; cached, as a body may have thousands of unknown names.
      if (!known.has(schemaPath)) known.set(schemaPath, knownNames(schema, schemaPath));
      params.known = known.get(schemaPath);
    }
    return valid;
  };
  validate.errors = null as ValidateFunction['errors'];
  return validate;
};

/** Returns the property names of the schema to which a rule (`#/properties/…/additionalProperties`) belongs. */
function knownNames(schema: unknown, schemaPath: string): string[] {
  const path = schemaPath.split('/').slice(1, -1);
  const there = path.reduce((at, name) => (at as Record<string, unknown>)?.[name], schema);
  return Object.keys((there as { properties?: object })?.properties ?? {});
}

/** Callers may write ids in upper case (RFC 9562 §4); they are compared with PostgreSQL's, which are in lower case. */
function withLowerCaseIds(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withLowerCaseIds);
  if (schema === null || typeof schema !== 'object') return schema;
  const { format, pattern = '' } = schema as { format?: unknown; pattern?: unknown };
  const same = Object.fromEntries(Object.entries(schema).map(([name, one]) => [name, withLowerCaseIds(one)]));
  const mayBeId = format === 'uuid' || String(pattern).includes('[0-9a-fA-F]{12}');
  return mayBeId ? { ...same, lowerCaseId: true } : same;
}

/** Returns the validator's findings as `error.details`: a JSON path, the rule's name as the code, and a text. */
export function detailsOf(errors: FastifySchemaValidationError[], context = 'body'): ErrorDetail[] {
  const prefix = context === 'body' ? '' : context === 'querystring' ? 'query' : context;
  return errors.slice(0, 20).map((error) => detailOf(error, prefix));
}

/** Returns one finding as a detail. */
export function detailOf(finding: FastifySchemaValidationError, prefix = ''): ErrorDetail {
  const error = finding as unknown as ErrorObject;
  return {
    field: [prefix, jsonPath(error)].filter(Boolean).join('.'),
    code: error.keyword === 'additionalProperties' ? 'unknown_field' : error.keyword,
    message: wordsOf(error),
  };
}

function jsonPath({ instancePath, keyword, params }: ErrorObject): string {
  const path = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((text, part) => (/^\d+$/.test(part) ? `${text}[${part}]` : text ? `${text}.${part}` : part), '');
  const missing =
    keyword === 'required'
      ? params.missingProperty
      : keyword === 'additionalProperties'
        ? params.additionalProperty
        : null;
  return missing === null ? path : [path, missing].filter(Boolean).join('.');
}
