/** The result of a batch of housekeeping that walks through a table by ids. */
export interface SweptStep {
  /** How many rows it deleted or ended. */
  swept: number;
  /** Where the next batch continues; null after the last. */
  next: string | null;
}
