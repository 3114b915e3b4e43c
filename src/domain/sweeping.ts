/** What a batch of housekeeping has done that walks along something by ids. */
export interface Swept {
  /** Rows that it deleted, or ended. */
  swept: number;
  /** Where the next one goes on; null after the last. */
  next: string | null;
}
