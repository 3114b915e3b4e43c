import type { ErrorObject } from 'ajv';

type Finding = Pick<ErrorObject, 'keyword' | 'params' | 'message'> & Partial<Pick<ErrorObject, 'instancePath'>>;

type Params = ErrorObject['params'];

const formats: Record<string, string> = {
  'date-time': 'must be a date and time with an offset, such as 2026-01-31T12:00:00Z (RFC 3339)',
  email: 'must be an email address',
  'idn-email': 'must be an email address',
  uri: 'must be an absolute URL',
  uuid: 'must be a UUID',
};
const ofPatterns = new Map<string, string>();

/** Registers the words that refuse a text which does not match a pattern, as few readers understand an expression. */
export function worded(pattern: string, words: string): string {
  ofPatterns.set(pattern, words);
  return pattern;
}

const types: Record<string, string> = {
  array: 'a list',
  boolean: 'true or false',
  integer: 'an integer',
  number: 'a number',
  object: 'an object',
  string: 'a string',
};

const counted =
  (bound: 'at least' | 'at most', unit: string) =>
  ({ limit }: Params) =>
    `must have ${bound} ${limit} ${limit === 1 ? unit : `${unit}s`}`;

/** Words for these rules, instead of the validator's clumsy ones, such as "must NOT have fewer than 1 characters". */
const words: Record<string, (params: Params) => string | undefined> = {
  additionalProperties: ({ known = [] }) =>
    known.length > 0 ? `is not supported here; supported: ${known.join(', ')}` : 'is not supported here',
  const: ({ allowedValue }) => `must be ${allowedValue}`,
  enum: ({ allowedValues }) => `must be one of ${allowedValues.map(String).join(', ')}`,
  format: ({ format }) => formats[format],
  maxItems: counted('at most', 'item'),
  maxLength: counted('at most', 'character'),
  maxProperties: counted('at most', 'field'),
  minItems: counted('at least', 'item'),
  minLength: counted('at least', 'character'),
  minProperties: counted('at least', 'field'),
  pattern: ({ pattern }) => ofPatterns.get(pattern),
  required: () => 'is missing',
  type: ({ type }) =>
    `must be ${[type]
      .flat()
      .map((name) => types[name] ?? name)
      .join(' or ')}`,
  uniqueItems: () => 'must not have the same item twice',
};

/** Returns what is wrong, so that a reader knows what would be right: the validator only names the rule. */
export function wordsOf({ keyword, params, instancePath, message = 'is not valid' }: Finding): string {
  // The finding is about the whole body: mostly there is none, or its content type is not JSON.
  if (keyword === 'type' && instancePath === '') return 'the body must be a JSON object';
  return words[keyword]?.(params) ?? message;
}
