const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const bitsOfDigit = 5;

export interface Base32 {
  /** The one spelling of these bytes without `=`. */
  text: string;
  bytes: number;
}

/**
 * Reads a text in Base32 (RFC 4648 §6), with or without `=` at the end. Bits of the last digit that fill no byte are
 * set to zero: authenticator apps ignore them (§3.5), and our library refuses them.
 * @returns null for anything else, such as lower case or a length that no number of bytes has
 */
export function readBase32(text: string): Base32 | null {
  const [, digits = '', last = ''] = /^([A-Z2-7]*)([A-Z2-7])={0,6}$/.exec(text) ?? [];
  const bits = (digits.length + last.length) * bitsOfDigit;
  const spare = bits % 8;
  if (bits === 0 || spare >= bitsOfDigit) return null;
  const zeroed = alphabet[(alphabet.indexOf(last) >> spare) << spare];
  return { text: `${digits}${zeroed}`, bytes: (bits - spare) / 8 };
}
