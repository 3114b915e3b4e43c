import { DefaultNamingStrategy } from 'typeorm';

/** `accountId` in code is `account_id` in PostgreSQL. */
export class SnakeCaseNaming extends DefaultNamingStrategy {
  override columnName(propertyName: string, customName: string | undefined): string {
    return customName ?? inSnakeCase(propertyName);
  }
}

/** `first_name` of `firstName`, for types. */
export type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : '';

/** `first_name` of `firstName`: as columns are called, and the members of JSON. */
export const inSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
