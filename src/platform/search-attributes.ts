import { type Connection, isGrpcServiceError } from '@temporalio/client';
import { searchAttributes } from '../../workflows/search-attributes.js';

/** The types of search attributes (by which Temporal lists workflows), by name. */
export type SearchAttributes = Record<string, keyof typeof typeNumbers>;

/** Temporal's numbers (IndexedValueType) for the types that we use. */
const typeNumbers = { Keyword: 2 } as const;

/**
 * gRPC codes for "you may not" (7, 12): an operator must create the attributes, as in Temporal Cloud. Code 16, for an
 * unknown caller, says nothing about that.
 */
const notForUs = new Set([7, 12]);
const alreadyExists = 6;

/**
 * Creates the missing search attributes of our workflows, if we may.
 * @returns those that an operator must create, because we may not list or add them, or because they have another type:
 *   no workflow with these can be started
 */
export async function ensureSearchAttributes(connection: Connection, namespace: string): Promise<string[]> {
  const names = Object.keys(searchAttributes);
  try {
    return await addMissingAttributes(connection, namespace, searchAttributes);
  } catch (error) {
    if (isGrpcServiceError(error) && error.code === alreadyExists) return []; // another worker was faster
    if (isGrpcServiceError(error) && notForUs.has(error.code)) return names;
    throw error;
  }
}

/** Adds missing search attributes. @returns those that exist with another type */
export async function addMissingAttributes(
  connection: Connection,
  namespace: string,
  wanted: SearchAttributes,
): Promise<string[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = Object.entries(wanted).filter(([name]) => !(name in customAttributes));
  const foreign = Object.entries(wanted).filter(
    ([name, type]) => (customAttributes[name] ?? typeNumbers[type]) !== typeNumbers[type],
  );
  const names = foreign.map(([name]) => name);
  if (missing.length === 0) return names;
  const numbers = Object.fromEntries(missing.map(([name, type]) => [name, typeNumbers[type]]));
  await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: numbers });
  return names;
}
