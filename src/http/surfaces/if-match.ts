import { DomainError, invalidField } from '../../domain/errors.js';

/**
 * Returns the version in an If-Match header, written `"7"` or `7` (contract §1), or `W/"7"`, into which compressing
 * proxies rewrite our `ETag`: a version is exact in any of these forms.
 * @throws DomainError if_match.required, if_match.invalid
 */
export function versionOf(ifMatch: string | undefined): number {
  if (ifMatch === undefined || ifMatch === '') throw new DomainError('if_match.required');
  const version = versionIn(ifMatch);
  if (version === null) throw new DomainError('if_match.invalid');
  return version;
}

/** Returns the version in an optional If-Match header; null if it names none. */
export function versionIn(ifMatch: string): number | null {
  const match = /^(?:(?:W\/)?"(\d{1,9})"|(\d{1,9}))$/.exec(ifMatch.trim());
  return match && Number(match[1] ?? match[2]);
}

export const etagOf = (version: number): string => `"${version}"`;

/**
 * Refuses If-Match for a resource without versions, since a caller who sends it relies on it (RFC 9110 §13.1.1). `*`
 * only requires that the resource exists.
 * @throws DomainError validation.failed
 */
export function assertNoVersion(ifMatch = ''): void {
  if (ifMatch === '' || ifMatch.trim() === '*') return;
  throw invalidField('headers.if-match', 'not_versioned', 'cannot be checked, since this has no version; leave it out');
}
