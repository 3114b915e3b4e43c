/** Adds a value to a statement, and answers its placeholder for the text. */
export type Bind = (value: unknown) => string;

/** For a statement with these values, as far as they are known yet. */
export const bindInto =
  (values: unknown[]): Bind =>
  (value) =>
    `$${values.push(value)}`;
