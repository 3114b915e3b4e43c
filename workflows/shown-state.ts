import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { stateKey } from './search-attributes.js';

/**
 * A workflow's state with its two public faces: the search attribute, and a sentence for whoever supports the customer.
 * @param describe plain words, with ids and times only
 */
export function shownState<S extends string>(initial: S, describe: (state: S) => string) {
  let current = initial;
  setCurrentDetails(describe(current)); // the attribute's first value comes with the start
  return {
    get: (): S => current,
    /** Moves on. A state that stays the same costs no event in the history. */
    set(next: S): void {
      if (next === current) return;
      current = next;
      upsertSearchAttributes([{ key: stateKey, value: next }]);
      setCurrentDetails(describe(next));
    },
    /** Says anew what else the sentence tells. */
    refresh(): void {
      setCurrentDetails(describe(current));
    },
  };
}
