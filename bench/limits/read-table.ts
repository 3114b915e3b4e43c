/** The table for single-row reads: small enough to stay in memory, like the rows that a service reads constantly. */
export const readTable = { name: 'bench_rows', rows: 10_000 };
