import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import proto from '@temporalio/proto';
import { projectRoot } from '../../src/platform/root.js';

const { History } = proto.temporal.api.history.v1;

export const historiesFolder = join(projectRoot, 'test/workflows/histories');

/**
 * Keeps a run's history as what releases before this one may have left running; the replay test runs all of them. Done
 * with `GATEHOUSE_RECORD_HISTORIES=1` when a workflow was changed behind `patched`: add a file, keep the old ones.
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

/** A recorded history, as the replay worker takes it. */
export async function readHistory(file: string) {
  return History.fromObject(JSON.parse(await readFile(join(historiesFolder, file), 'utf8')));
}

/** Process ids, host names and stacks say where it was recorded, and play no part in a replay. */
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
