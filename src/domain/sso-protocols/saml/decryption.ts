import { constants, createDecipheriv, type KeyObject, privateDecrypt } from 'node:crypto';
import { samlNamespaces } from './xml.js';

const { signature: dsig, encryption: xenc, encryption11: xenc11 } = samlNamespaces;

/** The cipher that encrypts an assertion with a key of its own (XML Encryption 1.1 §5.2). */
export interface ContentCipher {
  name: 'aes-128-gcm' | 'aes-256-gcm' | 'aes-128-cbc' | 'aes-256-cbc';
  /** Whether it detects changes. Otherwise it is only decrypted if a signature proves that nothing was changed. */
  isAuthenticated: boolean;
}

/** The supported ciphers, by the URIs of their algorithms. */
export const contentCiphers: ReadonlyMap<string, ContentCipher> = new Map<string, ContentCipher>([
  [`${xenc11}aes256-gcm`, { name: 'aes-256-gcm', isAuthenticated: true }],
  [`${xenc11}aes128-gcm`, { name: 'aes-128-gcm', isAuthenticated: true }],
  [`${xenc}aes256-cbc`, { name: 'aes-256-cbc', isAuthenticated: false }],
  [`${xenc}aes128-cbc`, { name: 'aes-128-cbc', isAuthenticated: false }],
]);

/** The hash of RSA-OAEP (RFC 8017 §7.1), for the label and for the mask. */
export type OaepHash = 'sha1' | 'sha256' | 'sha512';

/** By digest in XML Encryption 1.1 §5.5.2, with the mask generation function, which has to be of the same hash. */
export const oaepHashes: ReadonlyMap<string, { hash: OaepHash; mask: string }> = new Map([
  [`${dsig}sha1`, { hash: 'sha1', mask: `${xenc11}mgf1sha1` }],
  [`${xenc}sha256`, { hash: 'sha256', mask: `${xenc11}mgf1sha256` }],
  [`${xenc}sha512`, { hash: 'sha512', mask: `${xenc11}mgf1sha512` }],
]);

const [gcmIv, gcmTag, cbcBlock] = [12, 16, 16];

/**
 * Decrypts the content with its key, which was encrypted to ours.
 * @throws Error for any failure: nobody may learn which
 */
export function decrypt(
  cipher: ContentCipher,
  { content, key, oaepHash, privateKey }: { content: Buffer; key: Buffer; oaepHash: OaepHash; privateKey: KeyObject },
): Buffer {
  const opened = privateDecrypt({ key: privateKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash }, key);
  return cipher.isAuthenticated ? fromGcm(cipher.name, opened, content) : fromCbc(cipher.name, opened, content);
}

/** Content: the initialization vector, the ciphertext and the whole tag (§5.2.4); a shorter tag is easier to forge. */
function fromGcm(name: ContentCipher['name'], key: Buffer, content: Buffer): Buffer {
  const decipher = createDecipheriv(name as 'aes-128-gcm', key, content.subarray(0, gcmIv), { authTagLength: gcmTag });
  decipher.setAuthTag(content.subarray(-gcmTag));
  return Buffer.concat([decipher.update(content.subarray(gcmIv, -gcmTag)), decipher.final()]);
}

/** The last byte is the length of the padding, whose other bytes are arbitrary (§5.2.3). */
function fromCbc(name: ContentCipher['name'], key: Buffer, content: Buffer): Buffer {
  const decipher = createDecipheriv(name, key, content.subarray(0, cbcBlock)).setAutoPadding(false);
  const padded = Buffer.concat([decipher.update(content.subarray(cbcBlock)), decipher.final()]);
  const added = padded.at(-1) ?? 0;
  if (added < 1 || added > cbcBlock) throw new Error('its padding is none');
  return padded.subarray(0, -added);
}
