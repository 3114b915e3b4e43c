import { OAuthError } from '../oauth-error.js';

/** The parameters of a request, by name; empty ones are left out (RFC 6749 §3.1). */
export type Parameters = ReadonlyMap<string, string>;

export interface ReadParameters {
  values: Parameters;
  /** Names that came twice, or whose value in a JSON body is not a text. */
  malformed: readonly string[];
}

/** Reads a parsed query, form or JSON body. */
export function readParameters(...inputs: unknown[]): ReadParameters {
  const values = new Map<string, string>();
  const malformed: string[] = [];
  for (const input of inputs) {
    if (input === null || typeof input !== 'object' || Array.isArray(input)) continue;
    for (const [name, value] of Object.entries(input)) {
      const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
      if (text == null || text === '') continue;
      if (typeof text !== 'string' || values.has(name)) malformed.push(name);
      else values.set(name, text);
    }
  }
  return { values, malformed };
}

/**
 * The parameters, if each relevant one came once (RFC 6749 §3.1); others are ignored, however often they came.
 * @throws OAuthError invalid_request
 */
export function onlyOnce({ values, malformed }: ReadParameters, names: readonly string[]): Parameters {
  const refused = malformed.find((name) => names.includes(name));
  if (refused !== undefined) throw new OAuthError('invalid_request', `${refused} must be sent once, as a string`);
  return values;
}
