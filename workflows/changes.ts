// Names of changes behind `patched`: runs of releases before them go on as they did.

/** A signal that tells of a row's end, or of its deadline, has the row read, and is not taken at its word. */
export const rowDecides = 'row-decides';
/** A registration is found by the Account that came of it. */
export const foundByAccount = 'found-by-account';
