import { DomainError, invalidField } from '../domain/errors.js';

/**
 * The version in an If-Match header, written `"7"` or `7` (contract §1), or `W/"7"`, which proxies that compress make of our `ETag`: a
 * version is exact however it is written.
 * @throws DomainError if_match.required, if_match.invalid
 */
export function versionOf(ifMatch: string | undefined): number {
  if (ifMatch === undefined || ifMatch === '') throw new DomainError('if_match.required');
  const version = versionIn(ifMatch);
  if (version === null) throw new DomainError('if_match.invalid');
  return version;
}

/** The same where nothing asks for one; null for what names none. */
export function versionIn(ifMatch: string): number | null {
  const match = /^(?:(?:W\/)?"(\d{1,9})"|(\d{1,9}))$/.exec(ifMatch.trim());
  return match && Number(match[1] ?? match[2]);
}

export const etagOf = (version: number): string => `"${version}"`;

/**
 * Of what has no versions none can be compared, and whoever sends one takes it for a guard (RFC 9110 §13.1.1). `*` only asks that it
 * exists.
 * @throws DomainError validation.failed
 */
export function assertNoVersion(ifMatch = ''): void {
  if (ifMatch === '' || ifMatch.trim() === '*') return;
  throw invalidField('headers.if-match', 'not_versioned', 'cannot be checked, since this has no version; leave it out');
}
