import type { Operation } from '../closed-loop.js';
import type { Connection } from '../connection.js';
import type { Seed } from '../seed.js';
import type { SizedSeed } from '../sized/seed.js';
import type { SizeName } from '../sized/sizes.js';
import type { Holders } from './holders.js';

/** The machine's limit with which an operation is compared: that of the work that it cannot avoid. */
export type LimitName = 'signatures' | 'argon2' | 'reads' | 'hello';

export interface Workload {
  name: string;
  /** What one operation is, for the reader of the table. */
  about: string;
  limit: LimitName;
  /** How much of the limit one operation uses: two signatures, one hash. 0: none of it, so only speeds are compared. */
  uses: number;
  /** Which of the two Environments of different sizes it uses; absent: the one that all others use. */
  size?: SizeName;
  /** Whether it uses api processes that remember password hashes (bench/remembered-hashes.ts). */
  isHashingAside?: boolean;
  /** Whether it runs only one at a time, since the service would make several wait for each other. */
  isAlone?: boolean;
  /** Makes the operation of worker `index`, which has its own connection. */
  prepare(context: WorkerContext): Promise<Operation>;
}

export interface WorkerContext {
  index: number;
  connection: Connection;
  seed: Seed;
  /** People who are signed in already, so that a cell need not begin with sign-ins. */
  holders: Holders;
  /** Returns the digits of the code that was last mailed to an Identity. */
  mailedCode(identityId: string): Promise<string>;
}

/** The context of a workload that has a size. */
export interface SizedContext extends Omit<WorkerContext, 'seed'> {
  seed: SizedSeed;
}
