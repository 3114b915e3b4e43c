import { createHash } from 'node:crypto';
import { maxUuid } from '../../platform/uuid.js';

/** How far a reader has come: everything up to this event at this place, which is a transaction's number. */
export interface Position {
  transactionId: bigint;
  eventId: string;
}

/** The position after all events of a place. */
export const endOf = (transactionId: bigint): Position => ({ transactionId, eventId: maxUuid });

const version = 1;
const checked = 8;

/**
 * Encodes a position for readers: opaque, and bound to one Environment. A cursor grants no rights, so it is not signed,
 * and it outlives every key.
 */
export function writeFeedCursor(environmentId: string, { transactionId, eventId }: Position): string {
  const body = Buffer.alloc(25);
  body.writeUInt8(version, 0);
  body.writeBigUInt64BE(transactionId, 1);
  body.write(eventId.replaceAll('-', ''), 9, 'hex');
  return Buffer.concat([body, checkOf(environmentId, body)]).toString('base64url');
}

/** Decodes a cursor; null if it is not one of this Environment. */
export function readFeedCursor(environmentId: string, text: string): Position | null {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== 25 + checked || bytes.toString('base64url') !== text || bytes[0] !== version) return null;
  const body = bytes.subarray(0, 25);
  if (!checkOf(environmentId, body).equals(bytes.subarray(25))) return null;
  const transactionId = body.readBigUInt64BE(1);
  const eventId = uuidOf(body.subarray(9));
  return transactionId > 2n ** 63n - 1n ? null : { transactionId, eventId };
}

const checkOf = (environmentId: string, body: Buffer) =>
  createHash('sha256').update(`gatehouse changes ${environmentId}\n`).update(body).digest().subarray(0, checked);

/** The UUID may have any version, or none as `maxUuid`. */
const uuidOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
