import { randomBytes } from 'node:crypto';

/** Contract §3. */
const howMany = 10;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'; // RFC 4648 §6

/** 80 bits. */
const codeBytes = 10;

/** 80 bits in base32, in four groups of four. */
function codeOf(bytes: Buffer): string {
  const bits = [...bytes.subarray(0, codeBytes)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const letters = (bits.match(/.{5}/g) as string[]).map((five) => alphabet[Number.parseInt(five, 2)]).join('');
  return (letters.match(/.{4}/g) as string[]).join('-');
}

/** A new set of codes, to be shown once. */
export const newRecoveryCodes = (): string[] => Array.from({ length: howMany }, () => codeOf(randomBytes(codeBytes)));

/** Returns a set of codes made of secrets; `secretOf` returns the one for each place. */
export const recoveryCodesOf = (secretOf: (place: number) => Buffer): string[] =>
  Array.from({ length: howMany }, (_, place) => codeOf(secretOf(place)));

/**
 * Returns a code in the form that is hashed, however it was typed; 0, 1 and 8 do not occur, and are misread letters.
 */
export const lettersOf = (code: string) =>
  code
    .toUpperCase()
    .replace(/[\s-]/g, '')
    .replace(/[018]/g, (digit) => ({ '0': 'O', '1': 'I', '8': 'B' })[digit] as string);

/** Whether a text can be one at all, as opposed to a code of an app. */
export const looksLikeRecoveryCode = (code: string): boolean => /^[A-Z2-7]{16}$/.test(lettersOf(code));
