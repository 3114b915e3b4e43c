/** The boolean that is meant: some directories write "True" and "False". Anything else is returned as it is. */
export const asBoolean = <T>(value: T): T | boolean =>
  (typeof value === 'string' ? booleans.get(value.toLowerCase()) : undefined) ?? value;

const booleans = new Map([
  ['true', true],
  ['false', false],
]);
