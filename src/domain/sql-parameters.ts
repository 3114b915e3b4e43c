/** Takes a value of a statement, and answers how it is called in the text. */
export type Bind = (value: unknown) => string;

/** Of a statement whose values these are, as far as they are there yet. */
export const bindInto =
  (values: unknown[]): Bind =>
  (value) =>
    `$${values.push(value)}`;
