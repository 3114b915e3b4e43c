import type { EventAction } from './catalogue.js';
import { isOfItsKind, kindInWords } from './field-kinds.js';
import { eventFields } from './fields.js';

/** What any operation may record besides what it declares: a refusal, and a signing key that it had to create. */
const ofAnyOperation: readonly EventAction[] = ['auth.access_denied', 'signing_key.created'];

// By default an event that is not as declared throws, so that a test fails.
let report = (fault: string): void => {
  throw new Error(fault);
};

/** Sends faults of declarations to `to` instead of throwing them at the caller, so that a running service continues. */
export function reportEventFaults(to: (fault: string) => void): void {
  report = to;
}

/**
 * Checks an event against its declarations: the `events` of the running operation, and the fields of its `data`. The
 * list of operations, the OpenAPI document and docs/events.md are made of these, and so cannot be wrong for long.
 * @param declared the `events` of the running operation; undefined if a process acts by itself
 */
export function assertDeclared(
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
