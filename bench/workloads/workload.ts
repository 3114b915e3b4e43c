import type { Operation } from '../closed-loop.js';
import type { Connection } from '../connection.js';
import type { Seed } from '../seed.js';
import type { SizedSeed } from '../sized/seed.js';
import type { SizeName } from '../sized/sizes.js';
import type { Holders } from './holders.js';

/** What an operation is compared with: the machine's own limit of what it cannot do without. */
export type LimitName = 'signatures' | 'argon2' | 'reads' | 'hello';

export interface Workload {
  name: string;
  /** What one operation is, for the reader of the table. */
  about: string;
  limit: LimitName;
  /** How much of the limit one operation uses: two signatures, one hash. 0: it does without, and speeds are compared. */
  uses: number;
  /** Which of the two Environments that differ in size it is asked of; left out for the one that all others use. */
  size?: SizeName;
  /** Asked of api processes that remember the hashes of passwords (bench/remembered-hashes.ts). */
  isHashingAside?: boolean;
  /** Only ever one at a time: the service would have them wait for each other. */
  isAlone?: boolean;
  /** Makes the operation of worker `index`, which has the connection to itself. */
  prepare(context: WorkerContext): Promise<Operation>;
}

export interface WorkerContext {
  index: number;
  connection: Connection;
  seed: Seed;
  /** Who is signed in already, so that a cell need not begin with sign-ins. */
  holders: Holders;
  /** The digits of the code that an Identity was mailed last. */
  mailedCode(identityId: string): Promise<string>;
}

/** What a workload that has a size is given. */
export interface SizedContext extends Omit<WorkerContext, 'seed'> {
  seed: SizedSeed;
}
