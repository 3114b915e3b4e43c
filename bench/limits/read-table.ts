/** What single-row reads are of: small enough to stay in memory, as what a service asks for all the time does. */
export const readTable = { name: 'bench_rows', rows: 10_000 };
