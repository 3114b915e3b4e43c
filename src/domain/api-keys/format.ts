import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Returns a key, `ghk_<live|test>_<client_id>_<secret><checksum>` (contract §2), new or only with a new secret. */
export function newApiKey(
  environmentType: 'development' | 'production',
  clientId: string = base62(randomBytes(12), 17),
) {
  const kind = environmentType === 'production' ? 'live' : 'test';
  const secret = base62(randomBytes(32), 43);
  const head = `ghk_${kind}_${clientId}_${secret}`;
  const key = `${head}${checksum(head)}`;
  return { key, clientId, secret, preview: `ghk_${kind}_…${key.slice(-4)}` };
}

/** Returns the parts of a presented key; null for anything else, which the checksum shows without a database query. */
export function parseApiKey(key: string): { clientId: string; secret: string } | null {
  const match = /^(ghk_(?:live|test)_([0-9A-Za-z]{17})_([0-9A-Za-z]{43}))([0-9A-Za-z]{6})$/.exec(key);
  if (!match || checksum(match[1] as string) !== match[4]) return null;
  return { clientId: match[2] as string, secret: match[3] as string };
}

// Lets a secret scanner tell a real key from a look-alike, and saves a query for a mistyped one.
function checksum(text: string): string {
  let digits = '';
  for (let number = crc32(text); digits.length < 6; number = Math.floor(number / 62))
    digits = (alphabet[number % 62] as string) + digits;
  return digits;
}

function base62(bytes: Buffer, length: number): string {
  let number = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  while (text.length < length) {
    text = alphabet[Number(number % 62n)] + text;
    number /= 62n;
  }
  return text;
}
