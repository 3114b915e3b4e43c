import { randomUUID } from 'node:crypto';
import type { Declared } from './declared.js';
import { type Kind, kinds } from './kinds.js';
import type { Place } from './place.js';
import type { Sent } from './sent.js';

/** What an example is built from. */
export interface Given {
  place: Place;
  /**
   * Returns the id of an object of this kind, a new one if the operation is to succeed. Every id of an input comes from
   * here, so that a test can replace it by a foreign one.
   * @param of what the object belongs to, if the operation takes both
   */
  id(kind: Kind, of?: string): Promise<string>;
  /** Part of a name that nothing else has. */
  unique: string;
}

/** A valid input with which an operation succeeds the first time. */
export type Example = (given: Given) => Promise<Sent> | Sent;

export const newUnique = () => randomUUID().replaceAll('-', '');

/** Builds examples from new objects of the place. */
export const given = (place: Place): Given => ({
  place,
  unique: newUnique(),
  id: (kind, of) => kinds[kind].make(place, of),
});

/** Returns the example of an operation. @throws Error that says what to write if there is none */
export function exampleOf(examples: Record<string, Example>, declared: Declared): Example {
  requireExamples(examples, [declared]);
  return examples[declared.example] ?? (() => ({}));
}

/** @throws Error that names every operation that needs an example and has none */
export function requireExamples(examples: Record<string, Example>, operations: readonly Declared[]): void {
  const missing = operations.filter(
    ({ example, ids, needsBody, surface }) =>
      !examples[example] && (ids.length > 0 || (needsBody && surface !== 'own')),
  );
  if (missing.length === 0) return;
  const lines = missing.map(
    ({ name, example, ids, needsBody }) =>
      `${name}: \`${example}\` names ${ids.join(', ') || 'nothing by its id'}${needsBody ? ' and needs a body' : ''}`,
  );
  throw new Error(`Add examples to test/support/operations/examples-*.ts:\n${lines.join('\n')}`);
}

/** Returns the positions of ids in an input, named as in `Declared.ids`, with the ids there. */
export function idsIn(sent: Sent): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const collect = (value: unknown, at: string): void => {
    if (value === null || typeof value !== 'object') {
      found.set(at, [...(found.get(at) ?? []), String(value)]);
      return;
    }
    for (const [name, one] of Object.entries(value)) collect(one, Array.isArray(value) ? `${at}[]` : `${at}.${name}`);
  };
  for (const part of ['path', 'query', 'body'] as const) collect(sent[part] ?? {}, part);
  return found;
}
