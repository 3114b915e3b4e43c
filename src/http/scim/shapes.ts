import { isObject } from '../../domain/is-object.js';
import { parseFilter } from '../../domain/scim/filters/syntax.js';
import type { ListRequest } from '../../domain/scim/lists.js';
import { assertProjection, type Projection } from '../../domain/scim/projection.js';
import { ScimRefused } from '../../domain/scim/refusal.js';
import type { Resource } from '../../domain/scim/schema.js';
import type { IsExpected } from '../../domain/scim/users/users.js';
import { integerForm } from '../surfaces/validation.js';
import { messageSchema } from './urns.js';

export const maxResults = 200;
const usual = 100;

type ListParameters = Record<string, unknown>;

/** @throws ScimRefused invalidValue */
export function projectionOf(parameters: ListParameters): Projection {
  const projection = {
    attributes: namesIn(parameters.attributes, 'attributes'),
    excludedAttributes: namesIn(parameters.excludedAttributes, 'excludedAttributes'),
  };
  assertProjection(projection);
  return projection;
}

/** Reads a list from a query string, or from an array in the body of a search. */
function namesIn(value: unknown, name: string): string[] {
  if (value === undefined || value === null) return [];
  const names = typeof value === 'string' ? value.split(',') : value;
  if (!Array.isArray(names) || names.length > 100 || names.some((one) => typeof one !== 'string'))
    throw new ScimRefused('invalidValue', `${name} has to be a list of up to 100 attributes`);
  return names.map((one: string) => one.trim()).filter((one) => one !== '');
}

/** @throws ScimRefused invalidFilter, invalidValue */
export function listRequestOf({
  filter,
  sortBy,
  sortOrder = 'ascending',
  startIndex,
  count,
}: ListParameters): ListRequest {
  if (filter !== undefined && typeof filter !== 'string')
    throw new ScimRefused('invalidFilter', 'The filter has to be a text');
  if (sortBy !== undefined && typeof sortBy !== 'string')
    throw new ScimRefused('invalidValue', 'sortBy has to be a text');
  if (sortOrder !== 'ascending' && sortOrder !== 'descending')
    throw new ScimRefused('invalidValue', 'sortOrder is ascending or descending');
  return {
    filter: filter === undefined ? null : parseFilter(filter),
    sortBy: sortBy ?? null,
    sortOrder,
    // A startIndex below 1 counts as 1, a count below 0 as 0 (RFC 7644 §3.4.2.4).
    startIndex: Math.min(Math.max(whole(startIndex, 'startIndex', 1), 1), 2_000_000_000),
    count: Math.min(Math.max(whole(count, 'count', usual), 0), maxResults),
  };
}

function whole(value: unknown, name: string, otherwise: number): number {
  if (value === undefined || value === null) return otherwise;
  const number = typeof value === 'string' && integerForm.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number))
    throw new ScimRefused('invalidValue', `${name} has to be a whole number`);
  return number;
}

/** The body of a search (RFC 7644 §3.4.3). @throws ScimRefused invalidSyntax */
export function searchOf(body: unknown): ListParameters {
  if (!isObject(body)) throw new ScimRefused('invalidSyntax', 'The body must be an object');
  return body;
}

export const listResponse = (resources: Resource[], { total, startIndex }: { total: number; startIndex: number }) => ({
  schemas: [messageSchema('ListResponse')],
  totalResults: total,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources,
});

/** Returns whether a version is in an If-Match or If-None-Match header, by weak comparison; null without a header. */
export function expectedBy(header: string | undefined): IsExpected | null {
  if (header === undefined || header.trim() === '') return null;
  if (header.trim() === '*') return () => true;
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '');
  const tags = header.slice(0, 4000).split(',').map(opaque);
  return (version) => tags.includes(opaque(version));
}
