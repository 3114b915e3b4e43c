import type { Check, Reason } from './evaluate.js';
import type { ExplainedReason, FoundAssignment, Named } from './explained.js';

/** An explanation in English for people; programs go by the codes. */
export const reasonsInWords = {
  plain: (code: Reason, { permission }: Check): string => plainly[code] ?? `${permission}: ${code}`,

  inactive: ({ name }: Named): string => `Node "${name}" is inactive, and so is everything below it`,

  of(code: ExplainedReason['code'], found: FoundAssignment, asOf: Date): string {
    const what = `Role "${found.role.name}" at node "${found.node.name}"`;
    switch (code) {
      case 'granted':
        return `${what} allows it`;
      case 'removed':
        return `${what} was removed ${ago(found.removedAt as Date, asOf)}`;
      case 'role_lacks_permission':
        return `${what} does not hold the permission`;
      case 'assigned_elsewhere':
        return `${what} holds the permission, but that node is not above the one asked for`;
      case 'role_inactive':
        return `${what} holds the permission, but the role is inactive`;
      default:
        return found.effectiveFrom !== null && asOf < found.effectiveFrom
          ? `${what} starts in ${span(found.effectiveFrom.getTime() - asOf.getTime())}`
          : `${what} ended ${ago(found.effectiveTo as Date, asOf)}`;
    }
  },
};

const plainly: Partial<Record<Reason, string>> = {
  identity_not_found: 'No such identity in the environment',
  identity_inactive: 'The identity is inactive in the environment',
  node_not_found: 'No such node in the environment',
  permission_not_found: 'No such permission in the environment',
  no_assignment: 'The identity holds no role at the node or above it',
};

const ago = (then: Date, asOf: Date) => `${span(asOf.getTime() - then.getTime())} ago`;

function span(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / 60_000));
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 72 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}
