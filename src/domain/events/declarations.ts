import type { EventAction } from './catalogue.js';
import { isOfItsKind, kindInWords } from './field-kinds.js';
import { eventFields } from './fields.js';

/** What any operation may record, besides what it declares: that it was refused, and a key that was due to sign something. */
const ofAnyOperation: readonly EventAction[] = ['auth.access_denied', 'signing_key.created'];

// To a test, an event that is not as declared is a failure.
let report = (fault: string): void => {
  throw new Error(fault);
};

/** Tells what is not as declared elsewhere than to the caller: a process of the service goes on. */
export function reportEventFaults(to: (fault: string) => void): void {
  report = to;
}

/**
 * Holds an event to what is declared of it: the `events` of the running operation, and the fields of its `data`. The list of
 * operations, the OpenAPI document and docs/events.md are made of those, and so cannot be wrong for long.
 * @param declared what the running operation declares; undefined where a process acts by itself
 */
export function holdToDeclaration(
  action: EventAction,
  metadata: Readonly<Record<string, unknown>>,
  declared: readonly string[] | undefined,
): void {
  if (declared && !declared.includes(action) && !ofAnyOperation.includes(action)) {
    report(`${action} is not among the \`events\` of the operation that records it`);
  }
  const fields = eventFields[action] ?? {};
  for (const [name, value] of Object.entries(metadata)) {
    if (!Object.hasOwn(fields, name)) report(`${name} is not among the fields of ${action} (events/fields.ts)`);
    if (!isOfItsKind(name, value)) report(`${name} of ${action} is not ${kindInWords(name)} (events/field-kinds.ts)`);
    if (name === 'changed' && !isOfApiNames(value)) report(`${name} of ${action} has names that no API has`);
  }
}

const isOfApiNames = (names: unknown) => Array.isArray(names) && names.every((name) => /^[a-z][a-z0-9_]*$/.test(name));
