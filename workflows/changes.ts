// The names of changes behind `patched`: runs that an earlier release began go on without them.

/** A signal about a row's end or deadline only has the row read; its arguments are not trusted. */
export const rowDecides = 'row-decides';
/** A registration can be found by the Account that it created. */
export const foundByAccount = 'found-by-account';
/** A grace that was told of many changes, and a removal of many steps, continue with a fresh history. */
export const freshHistory = 'fresh-history';
/** After another link was sent, an invite's row says when to remind: a signal sent by hand cannot hasten a reminder. */
export const rowReminds = 'row-reminds';
/** A failed mail that is retried before its run has ended is sent by that run. */
export const retriedWhileItFailed = 'retried-while-it-failed';
/** A change of an address reads its row first: it may have ended before its process was started. */
export const readFirst = 'read-first';
/** A confirmation that was given up has its row read: it may have succeeded without an answer. */
export const readAfterOutage = 'read-after-outage';
