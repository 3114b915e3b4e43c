import type { EntityManager } from 'typeorm';
import { recordEvent } from './record.js';

/** What a process is, and what it is about. */
export interface ProcessIds {
  id: string;
  kind: string;
  accountId: string | null;
  environmentId: string | null;
  subjectId: string;
}

/** Records what somebody has done to a process, in the Portal or in the Temporal UI. */
export const recordOfProcess = (
  tx: EntityManager,
  action: 'process.cancelled' | 'process.retried' | 'process.extended',
  { id, kind, accountId, environmentId, subjectId }: ProcessIds,
  more: Record<string, unknown> = {},
): Promise<string> => {
  const metadata = { kind, subject_id: subjectId, ...more };
  return recordEvent(tx, action, { accountId, environmentId, resourceId: id, metadata });
};
