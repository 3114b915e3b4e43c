import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { stateKey } from './search-attributes.js';

/**
 * Keeps a workflow's state, and shows it in two ways: as the search attribute, and as a sentence for support.
 * @param describe returns plain words, with ids and times only
 */
export function shownState<S extends string>(initial: S, describe: (state: S) => string) {
  let current = initial;
  setCurrentDetails(describe(current)); // the attribute gets its first value with the start
  return {
    get: (): S => current,
    /** Changes the state. If it stays the same, no event is added to the history. */
    set(next: S): void {
      if (next === current) return;
      current = next;
      upsertSearchAttributes([{ key: stateKey, value: next }]);
      setCurrentDetails(describe(next));
    },
    /** Updates the sentence, when something else in it has changed. */
    refresh(): void {
      setCurrentDetails(describe(current));
    },
  };
}
