import type { Stops } from '../src/dev/stops.js';
import type { StartBenchTemporal } from './temporal.js';

export interface Surroundings {
  stops: Stops;
  say: (line: string) => void;
  /** How long each cell may take, in ms. */
  times: { warm: number; measured: number };
  startTemporal: StartBenchTemporal;
}
