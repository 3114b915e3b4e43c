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
