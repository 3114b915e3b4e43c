import { Ajv, type ErrorObject, type FuncKeywordDefinition, type ValidateFunction } from 'ajv';
import type { DataValidationCxt } from 'ajv/dist/types/index.js';
import addFormats from 'ajv-formats';
import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify';
import type { ErrorDetail } from '../domain/errors.js';
import { isMailAddress } from '../domain/logins/address.js';
import { isUuid, uuid } from '../platform/uuid.js';
import { pathId } from './path-ids.js';
import { wordsOf } from './validation-words.js';

/** As many as an answer shows of each of a thousand elements; what has more is not looked at any further. */
export const mostFindings = 20_000;

/** Of what the validator is compiled to: it ends where it has found that many. What is found wrong stays wrong, whatever comes after it. */
const endingInTime = (code: string): string => {
  const [, name] = /\bfunction (validate\d+)\(/.exec(code) ?? [];
  return name === undefined
    ? code
    : code.replaceAll('errors++;', `if(++errors>=${mostFindings}){${name}.errors = vErrors;return false;}`);
};
const options = {
  allErrors: true,
  useDefaults: true,
  allowUnionTypes: true,
  strict: false,
  code: { process: endingInTime },
} as const;
const formats = addFormats as unknown as (ajv: Ajv, formats: string[]) => Ajv;
/** Of a text that may be an id: it is taken on in lower case. */
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
// What comes is taken as it is: Fastify by default would turn a null into "" and drop what it does not know.
const ajv = formats(new Ajv({ ...options, coerceTypes: false, removeAdditional: false }), ['uri', 'date-time'])
  .addFormat('email', isMailAddress)
  .addFormat('idn-email', /^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u) // one that somebody may have already
  .addFormat('uuid', uuid)
  .addKeyword(lowerCaseId);

/** How an integer is written in a URL; JavaScript, and the validator's own coercion, would take `0x10` and `1e1` as well. */
export const integerForm = /^-?\d+$/;

/** In a URL everything is text. How what is none is written there. */
const written: Record<string, { form: RegExp; read: (text: string) => unknown }> = {
  integer: { form: integerForm, read: Number },
  boolean: { form: /^(true|false)$/, read: (text) => text === 'true' },
};

/** Reads the text of a URL where its schema wants something else. What is written otherwise stays text, and is refused as such. */
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

/** In a path each id is one, be it nobody's. */
function pathIdsOf(schema: unknown): (params: Record<string, unknown>) => void {
  const { properties = {} } = schema as { properties?: Record<string, { format?: string }> };
  const ids = Object.keys(properties).filter((name) => properties[name]?.format === 'uuid');
  return (params) => {
    for (const name of ids) params[name] = pathId(String(params[name]));
  };
}

/** Compiled by the first request that needs it: all of them at once would be most of what a process does to start. */
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
      // Whoever mistyped a name is told which there are. A body may have thousands that are not known.
      if (!known.has(schemaPath)) known.set(schemaPath, knownNames(schema, schemaPath));
      params.known = known.get(schemaPath);
    }
    return valid;
  };
  validate.errors = null as ValidateFunction['errors'];
  return validate;
};

/** The names that a schema has at the place whose rule `schemaPath` (`#/properties/…/additionalProperties`) is. */
function knownNames(schema: unknown, schemaPath: string): string[] {
  const path = schemaPath.split('/').slice(1, -1);
  const there = path.reduce((at, name) => (at as Record<string, unknown>)?.[name], schema);
  return Object.keys((there as { properties?: object })?.properties ?? {});
}

/** Ids come in upper case, too (RFC 9562 §4), and are compared with what PostgreSQL writes, which is lower case. */
function withLowerCaseIds(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withLowerCaseIds);
  if (schema === null || typeof schema !== 'object') return schema;
  const { format, pattern = '' } = schema as { format?: unknown; pattern?: unknown };
  const same = Object.fromEntries(Object.entries(schema).map(([name, one]) => [name, withLowerCaseIds(one)]));
  const mayBeId = format === 'uuid' || String(pattern).includes('[0-9a-fA-F]{12}');
  return mayBeId ? { ...same, lowerCaseId: true } : same;
}

/** The validator's findings as `error.details`: a JSON path, a code that is the rule's name, and a text. */
export function detailsOf(errors: FastifySchemaValidationError[], context = 'body'): ErrorDetail[] {
  const prefix = context === 'body' ? '' : context === 'querystring' ? 'query' : context;
  return errors.slice(0, 20).map((error) => detailOf(error, prefix));
}

/** One of them. */
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
