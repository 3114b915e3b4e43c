import type { ErrorObject } from 'ajv';
import type { NodeType } from '../../../entities/node-type-schema.js';
import { DomainError, type ErrorDetail, invalidField } from '../errors.js';
import { compiledSchema } from './metadata-schemas.js';

const kibibyte = 1024;
/** Contract §1. */
const largest = 16 * kibibyte;

/**
 * Checks that a node of a type may have this metadata.
 * @throws DomainError validation.failed
 */
export function assertNodeMetadata(type: Pick<NodeType, 'metadata_schema'>, metadata: object): void {
  if (Buffer.byteLength(JSON.stringify(metadata)) > largest) {
    throw invalidField('metadata', 'too_large', 'is larger than 16 KiB');
  }
  const details = metadataProblems(type, metadata);
  if (details.length > 0) throw new DomainError('validation.failed', { details });
}

/** The finding about a node's metadata by the schema of its type; at most one. */
export function metadataProblems({ metadata_schema }: Pick<NodeType, 'metadata_schema'>, metadata: object) {
  if (!metadata_schema) return [];
  const found = compiledSchema(metadata_schema).check(metadata);
  if (found === 'too slow') return [tooSlow];
  return found ? [detailOf(found)] : [];
}

export const tooSlow: ErrorDetail = {
  field: 'metadata',
  code: 'too_slow',
  message: 'takes too long to check against the schema of the type',
};

const detailOf = ({ instancePath, keyword, message }: ErrorObject): ErrorDetail => ({
  field: ['metadata', ...instancePath.split('/').slice(1)]
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : `${path}.${part}`)),
  code: keyword,
  message: message ?? 'is not valid',
});
