import type { Operation } from '../closed-loop.js';
import type { Connection } from '../connection.js';
import type { Seed } from '../seed.js';
import type { Holders } from './holders.js';

/** What an operation is compared with: the machine's own limit of what it cannot do without. */
export type LimitName = 'signatures' | 'argon2' | 'hello';

export interface Workload {
  name: string;
  /** What one operation is, for the reader of the table. */
  about: string;
  limit: LimitName;
  /** How much of the limit one operation uses: two signatures, one hash. */
  uses: number;
  /** Makes the operation of worker `index`, which has the connection to itself. */
  prepare(context: WorkerContext): Promise<Operation>;
}

export interface WorkerContext {
  index: number;
  connection: Connection;
  seed: Seed;
  /** Who is signed in already, so that a cell need not begin with sign-ins. */
  holders: Holders;
}
