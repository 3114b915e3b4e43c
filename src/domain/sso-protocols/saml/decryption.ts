import { constants, createDecipheriv, type KeyObject, privateDecrypt } from 'node:crypto';
import { samlNamespaces } from './xml.js';

const { signature: dsig, encryption: xenc, encryption11: xenc11 } = samlNamespaces;

/** How an assertion is encrypted by a key of its own (XML Encryption 1.1 §5.2). */
export interface ContentCipher {
  name: 'aes-128-gcm' | 'aes-256-gcm' | 'aes-128-cbc' | 'aes-256-cbc';
  /** Whether whoever changes it is noticed: what is not may only be opened where a signature says that nobody has. */
  isAuthenticated: boolean;
}

/** Those that are opened here, by the URIs of their algorithms. */
export const contentCiphers: ReadonlyMap<string, ContentCipher> = new Map<string, ContentCipher>([
  [`${xenc11}aes256-gcm`, { name: 'aes-256-gcm', isAuthenticated: true }],
  [`${xenc11}aes128-gcm`, { name: 'aes-128-gcm', isAuthenticated: true }],
  [`${xenc}aes256-cbc`, { name: 'aes-256-cbc', isAuthenticated: false }],
  [`${xenc}aes128-cbc`, { name: 'aes-128-cbc', isAuthenticated: false }],
]);

/** RSA-OAEP of RFC 8017 §7.1 with that hash, in the label as in its mask. */
export type OaepHash = 'sha1' | 'sha256' | 'sha512';

/** As XML Encryption 1.1 §5.5.2 writes it: the digest and the mask generation function, which have to be of one hash. */
export const oaepHashes: ReadonlyMap<string, { hash: OaepHash; mask: string }> = new Map([
  [`${dsig}sha1`, { hash: 'sha1', mask: `${xenc11}mgf1sha1` }],
  [`${xenc}sha256`, { hash: 'sha256', mask: `${xenc11}mgf1sha256` }],
  [`${xenc}sha512`, { hash: 'sha512', mask: `${xenc11}mgf1sha512` }],
]);

const [gcmIv, gcmTag, cbcBlock] = [12, 16, 16];

/**
 * What was encrypted, by the key that was encrypted for ours.
 * @throws Error for whatever reason: nobody may learn which
 */
export function decrypt(
  cipher: ContentCipher,
  { content, key, oaepHash, privateKey }: { content: Buffer; key: Buffer; oaepHash: OaepHash; privateKey: KeyObject },
): Buffer {
  const opened = privateDecrypt({ key: privateKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash }, key);
  return cipher.isAuthenticated ? fromGcm(cipher.name, opened, content) : fromCbc(cipher.name, opened, content);
}

/** The initialization vector, what is encrypted, and the whole tag behind it (§5.2.4): a shorter one is easier to hit. */
function fromGcm(name: ContentCipher['name'], key: Buffer, content: Buffer): Buffer {
  const decipher = createDecipheriv(name as 'aes-128-gcm', key, content.subarray(0, gcmIv), { authTagLength: gcmTag });
  decipher.setAuthTag(content.subarray(-gcmTag));
  return Buffer.concat([decipher.update(content.subarray(gcmIv, -gcmTag)), decipher.final()]);
}

/** The last byte says how many were added, and the others of them may be anything (§5.2.3). */
function fromCbc(name: ContentCipher['name'], key: Buffer, content: Buffer): Buffer {
  const decipher = createDecipheriv(name, key, content.subarray(0, cbcBlock)).setAutoPadding(false);
  const padded = Buffer.concat([decipher.update(content.subarray(cbcBlock)), decipher.final()]);
  const added = padded.at(-1) ?? 0;
  if (added < 1 || added > cbcBlock) throw new Error('its padding is none');
  return padded.subarray(0, -added);
}
