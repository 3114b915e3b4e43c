import type { EventAction } from './event-catalogue.js';

/** What any operation may record, besides what it declares: that it was refused, and a key that was due to sign something. */
const ofAnyOperation: readonly EventAction[] = ['auth.access_denied', 'signing_key.created'];

// Where the code is being worked on, an event that is not as declared is a failure.
let report = (fault: string): void => {
  throw new Error(fault);
};

/** Tells what is not as declared elsewhere than to the caller: a process in production goes on. */
export function reportEventFaults(to: (fault: string) => void): void {
  report = to;
}

/**
 * Holds an event to the `events` of the running operation: the list of operations and the OpenAPI document are made of those,
 * and so cannot be wrong for long.
 * @param declared what the running operation declares; undefined where a process acts by itself
 */
export function holdToDeclaration(action: EventAction, declared: readonly string[] | undefined): void {
  if (declared && !declared.includes(action) && !ofAnyOperation.includes(action)) {
    report(`${action} is not among the \`events\` of the operation that records it`);
  }
}
