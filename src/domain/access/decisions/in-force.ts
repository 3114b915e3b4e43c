/**
 * A role assignment `a` in time, as conditions for a statement (contract §5): it counts from `effective_from` on and
 * until right before `effective_to`. Written once, since an end that one statement forgot would be a right that does
 * not end.
 * @param at how the statement calls the moment, such as `$4`
 */
export const inForce = (at: string) => `(a.effective_from is null or a.effective_from <= ${at}) and ${notEnded(at)}`;

/**
 * The assignment existed at a moment in the past. For now, which is null, no times are compared: every assignment that
 * is not removed counts. The machine that removes one may have another clock, and the right would last for the
 * difference.
 * @param then the moment as the statement calls it, such as `$6`
 */
export const assignedThen = (then: string) =>
  `(${then}::timestamptz is null or created_at <= ${then}) and (removed_at is null or ${then} < removed_at)`;

/** SQL: whether assignment `a` is in force or will be: it is neither removed nor over. */
export const notEnded = (at: string) => `a.removed_at is null and ${overAfter('a', at)}`;

/**
 * SQL: whether an assignment has not ended, or ended less than a month ago: a refusal names a window that has ended.
 * What ended earlier is not read: a role for half an hour, every hour, is nine thousand windows in a year.
 */
export const notLongOver = (a: string, at: string) => overAfter(a, `${at}::timestamptz - interval '30 days'`);

/**
 * SQL: whether an assignment ends later than `at`, by its removal or by its window. Written as in the index
 * `role_assignments_in_force`, so that of all assignments that a person ever had only these are read.
 */
const overAfter = (a: string, at: string) => `coalesce(least(${a}.removed_at, ${a}.effective_to), 'infinity') > ${at}`;
