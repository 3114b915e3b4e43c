import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import proto from '@temporalio/proto';
import { projectRoot } from '../../src/platform/root.js';

const { History } = proto.temporal.api.history.v1;

export const historiesFolder = join(projectRoot, 'test/workflows/histories');

/**
 * Keeps a run's history, as one that an earlier release may have left running; the replay test replays them all. When a
 * workflow was changed behind `patched`, run with `GATEHOUSE_RECORD_HISTORIES=1`: it adds files; keep the old ones.
 */
export async function recordHistory(name: string, handle: Pick<WorkflowHandle, 'fetchHistory'>): Promise<void> {
  if (!process.env.GATEHOUSE_RECORD_HISTORIES) return;
  const plain = History.toObject(History.fromObject(await handle.fetchHistory()), {
    longs: String,
    enums: String,
    bytes: String,
  });
  const history = withoutMachine(plain);
  await mkdir(historiesFolder, { recursive: true });
  await writeFile(join(historiesFolder, `${name}.json`), `${JSON.stringify(history, null, 2)}\n`);
}

/** Reads a recorded history for the replay worker. */
export async function readHistory(file: string) {
  return History.fromObject(JSON.parse(await readFile(join(historiesFolder, file), 'utf8')));
}

/** Removes process ids, host names and stacks, which say where it was recorded and do not matter for a replay. */
const withoutMachine = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutMachine);
  if (typeof value === 'string') return value.replace(/^\d+@.*/, 'recorded'); // process id and host
  if (!value || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== 'stackTrace')
      .map(([key, child]) => [key, withoutMachine(child)]),
  );
};
