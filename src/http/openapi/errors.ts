import { STATUS_CODES } from 'node:http';
import { DomainError, type ErrorCode, errorCodes } from '../../domain/errors.js';
import { httpStatusOf, shownCode } from '../error-statuses.js';
import { ErrorDetailView, ErrorEnvelope } from '../errors.js';
import { PageRefusal } from '../oauth/documentation/json.js';
import { Page } from '../oauth/documentation/page.js';
import {
  type DocumentedOperation,
  type DocumentedResponse,
  json,
  type OpenApiDocument,
  type Schema,
} from './document.js';

const body = ErrorEnvelope.properties.error;

/**
 * The error envelope, and its content with every code that exists; this has a name of its own, since generators only
 * follow references to named schemas.
 */
export const errorSchemas = {
  Error: {
    ...ErrorEnvelope,
    title: 'Error',
    description: 'The body of every error response.',
    properties: { error: { $ref: '#/components/schemas/ErrorBody' } },
  },
  ErrorDetail: ErrorDetailView,
  ErrorBody: {
    ...body,
    title: 'ErrorBody',
    properties: {
      ...body.properties,
      details: { type: 'array', items: { $ref: '#/components/schemas/ErrorDetail' } },
      code: {
        type: 'string',
        nullable: true,
        'x-extensible-enum': [...new Set(errorCodes.map(shownCode))].filter((code) => code !== null).sort(),
        description:
          'Stable; null if only the status matters. New codes may be added: go by the status if the code is unknown.',
      },
    },
  },
};

const bodyCodes = [
  'body.malformed',
  'body.too_large',
  'body.unsupported_encoding',
  'body.unsupported_media_type',
] as const satisfies ErrorCode[];

/** Returns the codes with which any operation of a JSON surface may be refused before it runs, whatever it declares. */
export function transportCodes(method: string, { parameters = [], responses }: DocumentedOperation): ErrorCode[] {
  // If the method allows a body, one is parsed and has to be JSON, even if the operation has none.
  const readsBody = method.toLowerCase() !== 'get';
  const validated = readsBody || parameters.some((parameter) => !('in' in parameter) || parameter.in !== 'header');
  return [
    'auth.multiple_credentials',
    'rate_limit.exceeded',
    'service.unavailable',
    ...(readsBody ? bodyCodes : []),
    ...(validated ? (['validation.failed'] as const) : []),
    ...(responses['401'] ? (['auth.invalid_credentials'] as const) : []),
  ];
}

/** Adds refusals to those that an operation declares. */
export function addErrors(operation: DocumentedOperation, codes: readonly ErrorCode[]): void {
  for (const code of codes) {
    const status = String(httpStatusOf(code));
    const response = (operation.responses[status] ?? { description: '' }) as DocumentedResponse;
    const schema = (response.content?.[json]?.schema ?? {}) as Schema;
    const named = schema['x-error-codes'] ?? [];
    if (!named.includes(code)) schema['x-error-codes'] = [...named, code];
    response.content = { ...response.content, [json]: { schema } };
    operation.responses[status] = response;
  }
}

/**
 * Adds the general refusals of OAuth's endpoints, pages and SCIM, which have their own forms of error: a page for
 * pages, and for the others the form of the refusals that they declare.
 */
export function addRefusalsInForm(method: string, { responses }: DocumentedOperation): void {
  const declared = ['403', '400', '401'].map((status) => responses[status]).find(Boolean) as DocumentedResponse;
  const isPage = [declared, responses['200'] as DocumentedResponse].some((one) => one?.content?.[html]);
  const shown = isPage ? Page('', PageRefusal).content : declared?.content;
  if (!shown) return;
  const codes: ErrorCode[] = ['rate_limit.exceeded', 'service.unavailable'];
  if (method.toLowerCase() !== 'get') codes.push('body.too_large', 'body.unsupported_media_type');
  for (const status of codes.map((code) => String(httpStatusOf(code)))) {
    responses[status] ??= { description: reasonOf(status), content: structuredClone(shown) as typeof declared.content };
  }
}

/** Adds HTML to the refusals of an operation that answers with a page: they are pages, too. */
export function addRefusalPages({ responses }: DocumentedOperation): void {
  const all = Object.entries(responses) as [string, DocumentedResponse][];
  if (!all.some(([status, { content = {} }]) => status < '400' && content[html])) return;
  for (const [status, response] of all) {
    if (status >= '400') response.content = { ...response.content, [html]: { schema: { type: 'string' } } };
  }
}
const html = 'text/html';

/** Turns the codes in a response's schema into descriptions, examples and `x-error-codes`. */
export function describeErrors(
  response: DocumentedResponse,
  document: OpenApiDocument,
  at: { path: string; method: string },
): void {
  const media = response.content?.[json];
  const schema = media?.schema as Schema | undefined;
  const codes = schema?.['x-error-codes'] as ErrorCode[] | undefined;
  if (!media || !schema || !codes) return;
  const { 'x-error-codes': _, description: __, ...plain } = schema;
  const holdsMore = plain.properties?.data !== undefined;
  media.schema = holdsMore ? { ...plain, properties: { ...plain.properties, error: errorPart } } : errorReference;
  media.examples = Object.fromEntries(codes.map((code) => [code, exampleReference(code, document, at)]));
  const shown = [...new Set(codes.map(shownCode))];
  const named = shown.map((code) => (code ? `\`${code}\`` : 'without a code'));
  response.description = `${reasonOf(String(httpStatusOf(codes[0] as ErrorCode)))}: ${named.join(', ')}`;
  response['x-error-codes'] = shown;
}

const errorReference = { $ref: '#/components/schemas/Error' };
const errorPart = { $ref: '#/components/schemas/ErrorBody' } as Schema;

/** Returns a reference to the code's example, which is made at its first use. */
function exampleReference(code: ErrorCode, document: OpenApiDocument, at: { path: string; method: string }) {
  document.components.examples ??= {};
  const { examples } = document.components;
  examples[code] ??= { summary: new DomainError(code).message, value: exampleEnvelope(code, at) };
  return { $ref: `#/components/examples/${code}` };
}

const exampleEnvelope = (code: ErrorCode, { path, method }: { path: string; method: string }) => ({
  error: {
    statusCode: httpStatusOf(code),
    code: shownCode(code),
    message: new DomainError(code).message,
    timestamp: '2026-11-21T09:30:00.000Z',
    path,
    method: method.toUpperCase(),
    ...(code === 'validation.failed' && {
      details: [{ field: 'name', code: 'minLength', message: 'must have at least 1 character' }],
    }),
  },
});

export const reasonOf = (status: string): string => STATUS_CODES[status] ?? 'Answer';
