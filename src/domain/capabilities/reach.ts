import type { Capability } from './administrator-roles.js';
import type { RoleLimits } from './role-limits.js';

/** A role as its holder sees it: what it allows, and where. */
export interface RoleInAccount {
  id: string;
  name: string;
  capabilities: readonly Capability[];
  limits: RoleLimits | null;
}

/** The parts of an Account in which something is allowed; null: everywhere. */
export type Reach = RoleLimits | null;

/** Returns where roles together allow something, without the places above that only lead there. */
export function reachOf(roles: readonly RoleInAccount[], capability: Capability): Reach {
  const limits = roles.filter(({ capabilities }) => capabilities.includes(capability)).map((role) => role.limits);
  const within = limits.filter((each) => each !== null);
  if (within.length < limits.length) return null;
  return {
    application_ids: within.flatMap(({ application_ids }) => application_ids),
    environment_ids: within.flatMap(({ environment_ids }) => environment_ids),
    node_ids: within.flatMap(({ node_ids }) => node_ids),
  };
}
