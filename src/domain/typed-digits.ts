/**
 * The digits of a code, whichever way they were typed: with the blank that a mail shows between its groups, or the sign that people
 * put there, and in full width, as Japanese keyboards do.
 */
export const typedDigits = (code: string): string =>
  code
    .replace(/[\s.\-‐-―]/g, '')
    .replace(/[０-９]/g, (digit) =>
      String.fromCharCode(digit.charCodeAt(0) - ('０'.charCodeAt(0) - '0'.charCodeAt(0))),
    );
