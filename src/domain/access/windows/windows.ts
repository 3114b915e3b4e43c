import type { EntityManager } from 'typeorm';
import { RoleAssignment } from '../../../../entities/role-assignment.js';
import { RoleAssignmentWindow, type RoleAssignmentWindowStatus } from '../../../../entities/role-assignment-window.js';
import type { Clock } from '../../../platform/clock.js';
import type { Db } from '../../../platform/database/db.js';
import { recordEvent } from '../../events/record.js';
import { assignmentMetadata } from '../assignments/assigning.js';
import { windowEmail } from './mails.js';
import { momentsOf } from './moments.js';

export interface RoleWindowsDeps {
  db: Db;
  now: Clock;
  /** Milliseconds before the end of a window at which it is `expiring`. */
  notices: readonly number[];
}

/** What its process does next: waits until `wakeAt`, or ends. */
export interface WindowLook {
  status: RoleAssignmentWindowStatus;
  wakeAt: string | null;
}

export type RoleWindows = ReturnType<typeof createRoleWindows>;

/**
 * Records what happens in the windows of role assignments, when it happens (contract §5). Access itself does not wait
 * for it.
 */
export function createRoleWindows({ db, now, notices }: RoleWindowsDeps) {
  /** Does the work under a lock on the window's row; if the window has ended, only returns how. */
  const ofRunning = (
    id: string,
    work: (tx: EntityManager, window: RoleAssignmentWindow, assignment: RoleAssignment) => Promise<WindowLook>,
  ): Promise<WindowLook> =>
    db.transaction('system', async (tx) => {
      const window = await tx.findOne(RoleAssignmentWindow, { where: { id }, lock: { mode: 'pessimistic_write' } });
      // The window is deleted with its assignment, and that with its node, its Identity or its Environment.
      const assignment = window && (await tx.findOneBy(RoleAssignment, { id }));
      if (!window || !assignment) return { status: 'removed', wakeAt: null };
      if (window.status !== 'running') return { status: window.status, wakeAt: null };
      return work(tx, window, assignment);
    });

  return {
    /** Records what has happened by now and was not recorded yet, each once, however late. Called by its process. */
    advance: (id: string): Promise<WindowLook> =>
      ofRunning(id, async (tx, { toldUntil }, assignment) => {
        const at = now();
        if (assignment.removedAt !== null) {
          const ended = { status: 'removed', endedReason: 'assignment_removed', endedAt: at } as const;
          await tx.update(RoleAssignmentWindow, { id }, ended);
          return { status: 'removed', wakeAt: null };
        }
        const ahead = momentsOf(assignment, notices).filter((moment) => moment.at > toldUntil);
        const due = ahead.filter((moment) => moment.at <= at);
        const next = ahead[due.length];
        const place = placeOf(assignment);
        for (const moment of due) {
          const metadata = { ...assignmentMetadata(assignment), at: moment.at };
          const eventId = await recordEvent(tx, moment.action, { ...place, resourceId: id, metadata });
          // If several were missed, the person needs a mail about the last one only.
          if (assignment.notifyHolder && moment === due.at(-1))
            await windowEmail(tx, assignment, moment, { eventId, now: at });
        }
        const told = due.at(-1)?.at ?? toldUntil;
        if (next) await tx.update(RoleAssignmentWindow, { id }, { toldUntil: told });
        else await tx.update(RoleAssignmentWindow, { id }, { toldUntil: told, status: 'completed', endedAt: at });
        return { status: next ? 'running' : 'completed', wakeAt: next?.at.toISOString() ?? null };
      }),

    /** Stops its events, for an operator's reason. The window itself stays as it is. */
    cancel: (id: string, reason: string): Promise<WindowLook> =>
      ofRunning(id, async (tx, _, assignment) => {
        await tx.update(RoleAssignmentWindow, { id }, { status: 'cancelled', endedReason: reason, endedAt: now() });
        const metadata = { ...assignmentMetadata(assignment), reason };
        const place = placeOf(assignment);
        await recordEvent(tx, 'role_assignment.window_cancelled', { ...place, resourceId: id, metadata });
        return { status: 'cancelled', wakeAt: null };
      }),
  };
}

const placeOf = ({ accountId, environmentId }: RoleAssignment) => ({ accountId, environmentId });
