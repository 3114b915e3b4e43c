import type { Decision, Reason } from './evaluate.js';

export interface Named {
  id: string;
  name: string;
}

/** An assignment as a decision saw it. */
export interface SeenAssignment {
  assignmentId: string;
  role: Named;
  node: Named;
  effectiveFrom: Date | null;
  effectiveTo: Date | null;
}

/** One reason, with its assignment if it is about one. */
export interface ExplainedReason extends Partial<SeenAssignment> {
  code: Reason | 'role_lacks_permission' | 'assigned_elsewhere' | 'removed';
  message: string;
}

export interface Explanation extends Decision {
  /** The assignment that decided, and the way from the root to its node. */
  decision: (SeenAssignment & { path: Named[] }) | null;
  /** Why it was allowed, or everything for which it was denied. */
  reasons: ExplainedReason[];
}

/** What is known about an assignment of the Identity. */
export interface FoundAssignment extends SeenAssignment {
  isRoleActive: boolean;
  holdsPermission: boolean;
  isOnPath: boolean;
  /** Levels below the root. */
  depth: number;
  removedAt: Date | null;
  path: Named[];
}

export interface Found {
  membership: { isActive: boolean } | null;
  node: (Named & { inactive: Named[] }) | null;
  permissionExists: boolean;
  assignments: FoundAssignment[];
}
