import type { RouteShorthandOptions } from 'fastify';
import { type TProperties, type TSchema, Type } from 'typebox';
import type { ErrorCode } from '../../domain/errors.js';
import { httpStatusOf } from '../error-statuses.js';
import { ErrorEnvelope } from '../errors.js';
import { KeyHeader, keyCodesOf } from './idempotency.js';
import { codesOf, errors, type Operation } from './operation.js';
import type { Surface } from './surface.js';

/** Returns the status with which an operation answers unless its handler names another. */
export const successOf = ({ answers }: Operation): number => Math.min(...Object.keys(answers).map(Number));

/** Returns a route's schema, by which Fastify validates and serializes, and from which the OpenAPI document is made. */
export function schemaOf(
  operation: Operation,
  surface: Surface,
): RouteShorthandOptions['schema'] & Record<string, unknown> {
  const { id, summary, tag, params, query, body, method } = operation;
  const own = (params as { properties?: TProperties } | undefined)?.properties ?? {};
  const properties = { ...surface.paramsOf(operation), ...own };
  const { text, ...extensions } = surface.describe(operation);
  return {
    operationId: surface.name === 'public' ? id : `${surface.name}${id[0]?.toUpperCase()}${id.slice(1)}`,
    summary,
    description: [operation.description, text].filter(Boolean).join('\n\n'),
    tags: [tag],
    security: surface.security,
    ...extensions,
    ...(Object.keys(properties).length > 0 && { params: Type.Object(properties) }),
    ...(query && { querystring: query }),
    ...(body && { body }),
    headers: headersOf(operation, method),
    response: answersOf(operation, surface),
  };
}

/** Headers are only documented here, and parsed by hand: their own error codes say more than a validator does. */
function headersOf({ ifMatch }: Operation, method: string): TSchema {
  return Type.Object({
    ...(method !== 'GET' && KeyHeader),
    ...(ifMatch && { 'if-match': Type.Optional(Type.String()) }),
  });
}

/** Returns the answers that the operation declares, with the refusals that all operations of its kind have. */
function answersOf(operation: Operation, surface: Surface): Record<number, TSchema> {
  const { answers, ifMatch, method } = operation;
  const codes: ErrorCode[] = [
    ...surface.refusals(operation),
    ...codesOf(answers),
    ...(ifMatch ? (['if_match.required', 'if_match.invalid', 'version.conflict'] as const) : []),
    ...(method === 'GET' ? [] : keyCodesOf(operation)),
  ];
  const documented: Record<number, TSchema> = { ...answers, ...errors(...new Set(codes)) };
  const conflict = documented[httpStatusOf('version.conflict')];
  if (ifMatch && conflict) documented[httpStatusOf('version.conflict')] = withCurrent(conflict, answers);
  return documented;
}

/** If the request sends a version, a 409 may hold the current resource, whatever other conflicts the operation has. */
function withCurrent(conflict: TSchema, answers: Record<number, TSchema>): TSchema {
  const current = (Object.values(answers)[0] as { properties?: { data?: TSchema } }).properties?.data;
  const data = current ?? Type.Object({}, { additionalProperties: true });
  const { 'x-error-codes': codes } = conflict as { 'x-error-codes'?: ErrorCode[] };
  const shape = Type.Object({ error: ErrorEnvelope.properties.error, data: Type.Optional(data) });
  return { ...shape, 'x-error-codes': codes };
}
