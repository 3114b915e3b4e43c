type Key = string | number;
export type CborValue = number | string | Buffer | CborValue[] | Map<Key, CborValue>;

/** Encodes as much of RFC 8949 as WebAuthn needs: integers, texts, byte strings, lists and maps in the given order. */
export function cbor(value: CborValue): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)]);
  const entries = [...value].flatMap(([key, one]) => [cbor(key), cbor(one)]);
  return Buffer.concat([head(5, value.size), ...entries]);
}

function head(major: number, argument: number): Buffer {
  const first = major << 5;
  if (argument < 24) return Buffer.from([first | argument]);
  if (argument < 0x100) return Buffer.from([first | 24, argument]);
  if (argument < 0x10000) return Buffer.from([first | 25, argument >> 8, argument & 0xff]);
  const long = Buffer.alloc(5);
  long[0] = first | 26;
  long.writeUInt32BE(argument, 1);
  return long;
}
