import { SsoRefused } from '../assertion.js';

/**
 * The text of a posted message. Characters that UTF-8 does not have are refused, and not replaced by others: what is read
 * must be what was signed.
 * @param maxLength in characters
 * @throws SsoRefused
 */
export function decodeMessage(base64: string, maxLength: number): string {
  // Refused by its length alone: four characters are three bytes, with line breaks in between.
  if (base64.length > Math.ceil(maxLength * 1.5)) throw new SsoRefused('too_large', 'It is too long to be read');
  return decodeText(decodeBytes(base64));
}

/** What may stand in lines. @throws SsoRefused */
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
