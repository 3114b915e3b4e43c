/** The result of a batch of housekeeping that walks along a table by ids. */
export interface SweptStep {
  /** How many rows it deleted or ended. */
  swept: number;
  /** Where the next batch goes on; null after the last. */
  next: string | null;
}
