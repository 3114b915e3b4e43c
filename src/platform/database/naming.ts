import { DefaultNamingStrategy } from 'typeorm';

/** `accountId` in code is `account_id` in PostgreSQL. */
export class SnakeCaseNaming extends DefaultNamingStrategy {
  override columnName(propertyName: string, customName: string | undefined): string {
    return customName ?? inSnakeCase(propertyName);
  }
}

/** Type of the snake-case form of a name: `first_name` of `firstName`. */
export type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : '';

/** Returns `first_name` for `firstName`: the form of column names, and of members in JSON. */
export const inSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Type of an object whose members have snake-case names. */
export type SnakeCased<T> = { [K in keyof T & string as SnakeCase<K>]: T[K] };

/** Type of the camel-case form of a name: `firstName` of `first_name`. */
type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** Type of an object whose members have camel-case names. */
export type CamelCased<T> = { [K in keyof T & string as CamelCase<K>]: T[K] };

/** Returns an object with the same values under snake-case names, as in JSON and in rows. */
export const snakeCased = <T extends object>(values: T): SnakeCased<T> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [inSnakeCase(name), value])) as SnakeCased<T>;

/** Returns an object with the same values under camel-case names, as in code. */
export const camelCased = <T extends object>(values: T): CamelCased<T> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [inCamelCase(name), value])) as CamelCased<T>;

const inCamelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
