import type { ErrorObject } from 'ajv';

type Finding = Pick<ErrorObject, 'keyword' | 'params' | 'message'> & Partial<Pick<ErrorObject, 'instancePath'>>;

const formats: Record<string, string> = {
  'date-time': 'must be a date and time with an offset, such as 2026-01-31T12:00:00Z (RFC 3339)',
  email: 'must be an email address',
  'idn-email': 'must be an email address',
  uri: 'must be an absolute URL',
  uuid: 'must be a UUID',
};
const ofPatterns = new Map<string, string>();

/** Has a text that is not of this pattern refused in words; no reader sees what an expression asks for. */
export function worded(pattern: string, words: string): string {
  ofPatterns.set(pattern, words);
  return pattern;
}

/** What is wrong, so that a reader knows what would be right: the validator only names the rule. */
export function wordsOf({ keyword, params, instancePath, message = 'is not valid' }: Finding): string {
  // Of the whole body: mostly there is none, or none that says that it is JSON.
  if (keyword === 'type' && instancePath === '') return 'the body must be a JSON object';
  if (keyword === 'additionalProperties') {
    const known: string[] = params.known ?? [];
    return known.length > 0 ? `is not supported here; supported: ${known.join(', ')}` : 'is not supported here';
  }
  if (keyword === 'enum') return `must be one of ${params.allowedValues.map(String).join(', ')}`;
  if (keyword === 'format') return formats[params.format] ?? message;
  if (keyword === 'pattern') return ofPatterns.get(params.pattern) ?? message;
  if (keyword === 'required') return 'is missing';
  return message;
}
