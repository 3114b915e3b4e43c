/**
 * A role assignment `a` in time, as conditions for a statement (contract §5): it counts from `effective_from` on and until right
 * before `effective_to`. Written once, since an end that one statement forgot would be a right that does not end.
 * @param at how the statement calls the moment, such as `$4`
 */
export const inForce = (at: string) => `(a.effective_from is null or a.effective_from <= ${at}) and ${notEnded(at)}`;

/**
 * Of assignments at another moment than now: it had been made, and not been taken away. Now, which is null, whatever is there has been
 * made, and what was taken away is gone: whoever did it may have another clock, and a right that was taken would go on by the difference.
 * @param then the moment as the statement calls it, such as `$6`
 */
export const assignedThen = (then: string) =>
  `(${then}::timestamptz is null or created_at <= ${then}) and (removed_at is null or ${then} < removed_at)`;

/** It is in force now or will be: neither taken away nor over. */
export const notEnded = (at: string) => `a.removed_at is null and ${overAfter('a', at)}`;

/**
 * It is not over for a month yet: who is refused is told of a window that has ended since. A role for half an hour, every hour, is nine thousand
 * windows in a year, and each decision would read them all.
 */
export const notLongOver = (a: string, at: string) => overAfter(a, `${at}::timestamptz - interval '30 days'`);

/**
 * It is over later than `at`: taken away, or its window has ended. As the index `role_assignments_in_force` has it, so that of all that somebody
 * ever held only that is read.
 */
const overAfter = (a: string, at: string) => `coalesce(least(${a}.removed_at, ${a}.effective_to), 'infinity') > ${at}`;
