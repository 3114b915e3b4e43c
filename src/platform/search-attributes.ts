import type { Connection } from '@temporalio/client';
import { isGrpcServiceError } from '@temporalio/client';
import { searchAttributes } from '../../workflows/search-attributes.js';

/** Temporal's numbers of the types (IndexedValueType) that we use. */
const typeNumbers = { Keyword: 2 } as const;

/** gRPC answers that say "not you": an operator makes the attributes there, as Temporal Cloud has it. */
const notForUs = new Set([7, 12, 16]);
const alreadyExists = 6;

/**
 * Makes the search attributes that our workflows carry, where they are missing and we may.
 * @returns those that an operator has to make, because we are not allowed to look or to add
 */
export async function ensureSearchAttributes(connection: Connection, namespace: string): Promise<string[]> {
  const names = Object.keys(searchAttributes);
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    const missing = names.filter((name) => !(name in customAttributes));
    if (missing.length > 0) {
      await connection.operatorService.addSearchAttributes({
        namespace,
        searchAttributes: Object.fromEntries(missing.map((name) => [name, typeNumbers[searchAttributes[name]!]])),
      });
    }
    return [];
  } catch (error) {
    if (isGrpcServiceError(error) && error.code === alreadyExists) return []; // another worker was quicker
    if (isGrpcServiceError(error) && notForUs.has(error.code)) return names;
    throw error;
  }
}
