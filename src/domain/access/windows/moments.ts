import type { RoleAssignment } from '../../../../entities/role-assignment.js';
import { after } from '../../../platform/clock.js';
import type { EventAction } from '../../events/catalogue.js';

export interface WindowMoment {
  action: Extract<EventAction, `role_assignment.${'activated' | 'expiring' | 'expired'}`>;
  at: Date;
}
type Span = Pick<RoleAssignment, 'effectiveFrom' | 'effectiveTo' | 'createdAt'>;

/** Whether it begins or ends later than `at`, so that there are events to come. */
export const hasBoundAhead = ({ effectiveFrom, effectiveTo }: Omit<Span, 'createdAt'>, at: Date): boolean =>
  (effectiveFrom !== null && effectiveFrom > at) || (effectiveTo !== null && effectiveTo > at);

/**
 * Returns the events of an assignment's window, in order. A window that is shorter than a notice has no such notice.
 * @param notices milliseconds before the end at which it is `expiring`
 */
export function momentsOf({ effectiveFrom, effectiveTo, createdAt }: Span, notices: readonly number[]): WindowMoment[] {
  const begins = effectiveFrom !== null && effectiveFrom > createdAt ? effectiveFrom : null;
  const moments: WindowMoment[] = begins ? [{ action: 'role_assignment.activated', at: begins }] : [];
  if (effectiveTo === null) return moments;
  const notified = [...new Set(notices)]
    .map((beforeMs) => after(effectiveTo, -beforeMs))
    .filter((at) => at > (begins ?? createdAt) && at < effectiveTo)
    .sort((a, b) => a.getTime() - b.getTime())
    .map((at) => ({ action: 'role_assignment.expiring' as const, at }));
  return [...moments, ...notified, { action: 'role_assignment.expired', at: effectiveTo }];
}
