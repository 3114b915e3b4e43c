import type { FastifyRequest, FastifySchemaValidationError } from 'fastify';
import { type TProperties, Type } from 'typebox';
import { DomainError, type ErrorDetail } from '../../domain/errors.js';
import { ErrorDetailView } from '../errors.js';
import { Id, Nullable, OneOf, Resource } from './schemas.js';
import { detailOf, maxFindings } from './validation.js';

/**
 * The outcome of each of many things: `{ items: [{ index, status, id, error }] }`, in the order of the request.
 * @param title of an item
 */
export const itemsOf = (title: string, ...statuses: string[]) => itemsWith(title, {}, ...statuses);

/** Like `itemsOf`, with further fields of each item. */
export const itemsWith = <P extends TProperties>(title: string, more: P, ...statuses: string[]) =>
  Type.Object({
    items: Type.Array(
      Resource(title, {
        index: Type.Integer({ example: 0 }),
        status: OneOf(statuses),
        id: Nullable(Id),
        error: Nullable(
          Type.Object(
            {
              code: Type.String(),
              message: Type.String(),
              details: Type.Optional(Type.Array(ErrorDetailView)),
            },
            { example: null },
          ),
        ),
        ...more,
      }),
    ),
  });

/** Returns the `error` of an item that was refused. */
export const itemError = ({ code, message, options: { details } }: DomainError) => ({
  code,
  message,
  ...(details && { details }),
});

declare module 'fastify' {
  interface FastifyRequest {
    /** The refusals of elements that are handled one by one, by index; null if there are none. */
    elementRefusals: Map<number, DomainError> | null;
  }
}

/** The most findings that an answer shows for one element. */
const maxDetails = 20;

/**
 * Returns the validator's findings about the elements of an array of the body, by index.
 * @param array the property with the array, as `identities`
 * @returns null if there are findings elsewhere, or so many that not every element was checked: then the whole request
 *   is refused
 */
export function elementRefusals(
  { validationError }: Pick<FastifyRequest, 'validationError'>,
  array: string,
): Map<number, DomainError> | null {
  if (validationError && validationError.validationContext !== 'body') return null;
  const findings = (validationError?.validation ?? []) as FastifySchemaValidationError[];
  if (findings.length >= maxFindings) return null;
  const found = new Map<number, ErrorDetail[]>();
  for (const one of findings) {
    const [, property, index] = one.instancePath.split('/');
    if (property !== array || index === undefined) return null;
    const details = found.get(Number(index)) ?? [];
    if (details.length < maxDetails) details.push(detailOf(one));
    found.set(Number(index), details);
  }
  return new Map([...found].map(([index, details]) => [index, new DomainError('validation.failed', { details })]));
}
