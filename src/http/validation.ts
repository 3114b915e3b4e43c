import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify';
import type { ErrorDetail } from '../domain/errors.js';
import { wordsOf } from './validation-words.js';

const options = { allErrors: true, useDefaults: true, allowUnionTypes: true, strict: false } as const;
const formats = addFormats as unknown as (ajv: Ajv, formats: string[]) => Ajv;
const used = ['uuid', 'email', 'uri', 'date-time'];

// Bodies are taken as they are: Fastify by default would turn a null into "" and drop what it does not know.
const strict = formats(new Ajv({ ...options, coerceTypes: false, removeAdditional: false }), used);
// In a URL everything is text.
const lenient = formats(new Ajv({ ...options, coerceTypes: true, removeAdditional: false }), used);

/** Compiled by the first request that needs it: all of them at once would be most of what a process does to start. */
export const validatorCompiler: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  let compiled: ValidateFunction | undefined;
  const validate = (data: unknown) => {
    compiled ??= (httpPart === 'body' ? strict : lenient).compile(schema);
    const valid = compiled(data);
    validate.errors = compiled.errors;
    return valid;
  };
  validate.errors = null as ValidateFunction['errors'];
  return validate;
};

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
