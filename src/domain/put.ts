/** Takes a value of a statement, and answers how it is called in the text. */
export type Put = (value: unknown) => string;

/** Of a statement whose values these are, as far as they are there yet. */
export const putInto =
  (values: unknown[]): Put =>
  (value) =>
    `$${values.push(value)}`;
