import { invalidField } from '../errors.js';

/** Contract §1. */
const largest = 16 * 1024;

/** @throws DomainError validation.failed when it is larger than 16 KiB */
export function assertMetadata(metadata: object = {}): void {
  if (Buffer.byteLength(JSON.stringify(metadata)) > largest)
    throw invalidField('metadata', 'too_large', 'is larger than 16 KiB');
}
