/**
 * A role assignment `a` in time, as conditions for a statement (contract §5): it counts from `effective_from` on and until right
 * before `effective_to`. Written once, since an end that one statement forgot would be a right that does not end.
 * @param at how the statement calls the moment, such as `$4`
 */
export const inForce = (at: string) =>
  `a.created_at <= ${at} and (a.effective_from is null or a.effective_from <= ${at}) and ${notEnded(at)}`;

/** It is in force now or will be: neither taken away nor over. */
export const notEnded = (at: string) => `a.removed_at is null and (a.effective_to is null or ${at} < a.effective_to)`;
