import type { Connection } from '@temporalio/client';
import { isGrpcServiceError } from '@temporalio/client';
import { searchAttributes } from '../../workflows/search-attributes.js';

/** What carries values in Temporal's lists, by name. */
export type SearchAttributes = Record<string, keyof typeof typeNumbers>;

/** Temporal's numbers of the types (IndexedValueType) that we use. */
const typeNumbers = { Keyword: 2 } as const;

/** gRPC answers that say "not you": an operator makes the attributes there, as Temporal Cloud has it. Who is not known to it (16) is told nothing of that. */
const notForUs = new Set([7, 12]);
const alreadyExists = 6;

/**
 * Makes the search attributes that our workflows carry, where they are missing and we may.
 * @returns those that an operator has to make, because we are not allowed to look or to add, or because they are of another type:
 *   with these no workflow is started
 */
export async function ensureSearchAttributes(connection: Connection, namespace: string): Promise<string[]> {
  const names = Object.keys(searchAttributes);
  try {
    return await addMissingAttributes(connection, namespace, searchAttributes);
  } catch (error) {
    if (isGrpcServiceError(error) && error.code === alreadyExists) return []; // another worker was quicker
    if (isGrpcServiceError(error) && notForUs.has(error.code)) return names;
    throw error;
  }
}

/** @returns those that are there, and of another type */
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
