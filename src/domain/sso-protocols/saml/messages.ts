import { SsoRefused } from '../assertion.js';

/**
 * Returns the text of a posted message. Invalid UTF-8 is refused, and not replaced by other characters: what is read
 * must be what was signed.
 * @param maxLength in characters
 * @throws SsoRefused
 */
export function decodeMessage(base64: string, maxLength: number): string {
  // A limit on the encoded length: four characters are three bytes, and there may be line breaks.
  if (base64.length > Math.ceil(maxLength * 1.5)) throw new SsoRefused('too_large', 'It is too long to be read');
  return decodeText(decodeBytes(base64));
}

/** Decodes Base64, which may have line breaks. @throws SsoRefused */
export function decodeBytes(base64: string): Buffer {
  const bare = base64.replace(/[\r\n\t ]+/g, '');
  if (!bare || !/^[A-Za-z0-9+/]+={0,2}$/.test(bare)) throw new SsoRefused('malformed', 'It is not Base64');
  return Buffer.from(bare, 'base64');
}

/** @throws SsoRefused */
export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new SsoRefused('malformed', 'It is not UTF-8', { cause });
  }
}
