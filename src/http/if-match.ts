import { DomainError } from '../domain/errors.js';

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
