/** Adds a value to a statement, and returns its placeholder for the text. */
export type Bind = (value: unknown) => string;

/** Returns a `Bind` that appends to these values of a statement. */
export const bindInto =
  (values: unknown[]): Bind =>
  (value) =>
    `$${values.push(value)}`;
