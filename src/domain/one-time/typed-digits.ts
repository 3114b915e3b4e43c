/**
 * Returns the digits of a code, however they were typed: with the space that a mail shows between groups, with another
 * separator, or in full width, as on Japanese keyboards.
 */
export const typedDigits = (code: string): string =>
  code
    .replace(/[\s.\-‐-―]/g, '')
    .replace(/[０-９]/g, (digit) =>
      String.fromCharCode(digit.charCodeAt(0) - ('０'.charCodeAt(0) - '0'.charCodeAt(0))),
    );
