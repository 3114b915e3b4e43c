import { invalidField } from '../errors.js';
import type { Bind } from './sql-parameters.js';

/** Where a page of a list sorted by age ended. It stays valid, whatever rows come or go. */
export interface CursorPlace {
  /** RFC 3339, to the microsecond, as PostgreSQL keeps moments. */
  createdAt: string;
  id: string;
}

/** What a statement selects of a row (`placedBy`), so that a cursor can refer to it. */
export interface RowPlace {
  /** Seconds since 1970. A double tells microseconds apart until 2242. */
  placeAt: number;
  placeId: string;
}

/** 2242, in microseconds. */
const latest = 2n ** 33n * 1_000_000n;

/** SQL: a row's `placeAt`. */
export const placeAtOf = (createdAt: string): string => `date_part('epoch', ${createdAt})`;
/** SQL: the columns of a `RowPlace`. */
export const placedBy = (createdAt: string, id: string): string =>
  `${placeAtOf(createdAt)} as "placeAt", ${id} as "placeId"`;

/** The place of a row. */
export const placeIn = ({ placeAt, placeId }: RowPlace): CursorPlace => ({
  createdAt: instant(microsecondsOf(placeAt)),
  id: placeId,
});

const microsecondsOf = (seconds: number): bigint => BigInt(Math.round(seconds * 1_000_000));
const instant = (microseconds: bigint): string =>
  `${new Date(Number(microseconds / 1000n)).toISOString().slice(0, -1)}${String(microseconds % 1000n).padStart(3, '0')}Z`;

/** @returns 32 characters for `readCursor`. A cursor gives no right to anything, so nothing signs it */
export function writeCursor({ placeAt, placeId }: RowPlace): string {
  const bytes = Buffer.alloc(24);
  bytes.writeBigInt64BE(microsecondsOf(placeAt));
  bytes.write(placeId.replaceAll('-', ''), 8, 'hex');
  return bytes.toString('base64url');
}

/** @throws DomainError validation.failed for a text that is no cursor */
export function readCursor(cursor: string): CursorPlace {
  const bytes = Buffer.from(cursor, 'base64url');
  const microseconds = bytes.length === 24 ? bytes.readBigInt64BE() : -1n;
  if (microseconds < 0n || microseconds > latest)
    throw invalidField('query.after', 'cursor', 'is not a cursor of a list');
  const id = bytes.toString('hex', 8).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return { createdAt: instant(microseconds), id };
}

/**
 * SQL: the rows after a place.
 * @param columns the moment and the id by which the list is sorted, in this direction
 */
export const afterCursor = (
  { createdAt, id }: CursorPlace,
  columns: readonly string[],
  direction: 'asc' | 'desc',
  put: Bind,
): string =>
  `(${columns.join(', ')}) ${direction === 'asc' ? '>' : '<'} (${put(createdAt)}::timestamptz, ${put(id)}::uuid)`;

/** SQL: the rows at a place, or younger. */
export const notBefore = ({ createdAt, id }: CursorPlace, columns: readonly string[], put: Bind): string =>
  `(${columns.join(', ')}) >= (${put(createdAt)}::timestamptz, ${put(id)}::uuid)`;
