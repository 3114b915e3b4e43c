/**
 * The contract's rules of permissions (§5, §6) for one Environment in their plainest form: loops over everything that
 * exists, from node to parent, without paths and without indexes.
 */

export interface ModelNode {
  parent: string | null;
  type: 'root' | 'organization' | 'unit';
  isActive: boolean;
  version: number;
}
export interface ModelRole {
  isActive: boolean;
  keys: Set<string>;
  version: number;
}
/** Times are milliseconds; a bound of null is open. */
export interface HeldRole {
  id: string;
  identity: string;
  role: string;
  node: string;
  from: number | null;
  to: number | null;
  made: number;
  removed: number | null;
}
type Place = Pick<HeldRole, 'identity' | 'role' | 'node'>;
type Window = Pick<HeldRole, 'from' | 'to'>;

const begins = ({ from }: Window) => from ?? Number.NEGATIVE_INFINITY;
const ends = ({ to }: Window) => to ?? Number.POSITIVE_INFINITY;
const isIn = (window: Window, at: number) => begins(window) <= at && at < ends(window);

export class AccessModel {
  readonly nodes = new Map<string, ModelNode>();
  readonly roles = new Map<string, ModelRole>();
  /** Members of the Environment. */
  readonly people = new Map<string, { isActive: boolean }>();
  readonly members = new Map<string, Set<string>>();
  held: HeldRole[] = [];

  /** @param keys the permissions that exist */
  constructor(
    readonly root: string,
    readonly keys: Set<string>,
  ) {
    this.nodes.set(root, { parent: null, type: 'root', isActive: true, version: 1 });
  }

  /** The nodes from the root to one. */
  path(id: string): string[] {
    const parent = this.nodes.get(id)?.parent ?? null;
    return [...(parent === null ? [] : this.path(parent)), id];
  }
  isAtOrBelow = (id: string, top: string) => this.path(id).includes(top);
  isOpen = (id: string) => this.path(id).every((each) => this.nodes.get(each)?.isActive);
  below = (top: string) => [...this.nodes.keys()].filter((id) => this.isAtOrBelow(id, top));
  /** The assignments that count now or in the future. */
  notEnded = (at: number) => this.held.filter((one) => one.removed === null && at < ends(one));

  reason(identity: string, key: string, node: string, at: number): string {
    const person = this.people.get(identity);
    if (!person) return 'identity_not_found';
    if (!this.nodes.has(node)) return 'node_not_found';
    if (!this.keys.has(key)) return 'permission_not_found';
    if (!person.isActive) return 'identity_inactive';
    if (!this.isOpen(node)) return 'node_inactive';
    const reasons = this.held
      .filter((one) => one.identity === identity && this.isAtOrBelow(node, one.node))
      .filter((one) => one.made <= at && (one.removed === null || at < one.removed))
      .filter((one) => this.roles.get(one.role)?.keys.has(key))
      .map((one) =>
        !isIn(one, at) ? 'outside_window' : this.roles.get(one.role)?.isActive ? 'granted' : 'role_inactive',
      );
    return (
      (['granted', 'role_inactive', 'outside_window'] as const).find((one) => reasons.includes(one)) ?? 'no_assignment'
    );
  }
  allows = (identity: string, key: string, node: string, at: number) =>
    this.reason(identity, key, node, at) === 'granted';
  allowsOneOf = (identity: string, keys: readonly string[], node: string, at: number) =>
    keys.some((key) => this.allows(identity, key, node, at));

  /** The nodes where an Identity holds one of some permissions, whether or not it counts there. */
  places = (identity: string, keys: readonly string[], at: number): string[] =>
    this.held
      .filter((one) => one.identity === identity && one.removed === null && isIn(one, at))
      .filter(({ role }) => this.roles.get(role)?.isActive && keys.some((key) => this.roles.get(role)?.keys.has(key)))
      .map(({ node }) => node);

  /** Whether an Identity holds a permission at a node from one moment to another, by windows without a gap. */
  holdsThroughout(identity: string, key: string, node: string, [begin, end]: [number, number]): boolean {
    const windows = this.held.filter(
      (one) =>
        one.identity === identity &&
        one.removed === null &&
        this.isAtOrBelow(node, one.node) &&
        this.roles.get(one.role)?.isActive &&
        this.roles.get(one.role)?.keys.has(key),
    );
    const moments = [begin, ...windows.map(ends)].filter((at) => begin <= at && at < end);
    return moments.every((at) => windows.some((one) => isIn(one, at)));
  }

  /** Which of some permissions a caller may not grant at a node, to themselves for that long. */
  ungrantable(caller: string, keys: readonly string[], node: string, at: number, own: Window | null): string[] {
    const lacking = keys.filter((key) => !this.allows(caller, key, node, at));
    if (lacking.length > 0 || !own) return lacking;
    return keys.filter((key) => !this.holdsThroughout(caller, key, node, [Math.max(at, begins(own)), ends(own)]));
  }

  /**
   * Whether somebody belongs to others than an end user who gives roles: to organizations that are neither in their part
   * nor around it, and holds no role in it (docs/decisions/0020).
   */
  belongsToOthers(identity: string, caller: string, at: number): boolean {
    if (this.places(caller, ['identity.view', 'identity.manage'], at).includes(this.root)) return false;
    const part = this.places(caller, ['rbac.assign_roles'], at).filter(this.isOpen);
    const isInPart = (node: string) => part.some((top) => this.isAtOrBelow(node, top));
    const isAround = (node: string) => part.some((top) => this.isAtOrBelow(top, node));
    const theirs = this.organizationsOf(identity);
    if (theirs.length === 0 || theirs.some((one) => isInPart(one) || isAround(one))) return false;
    return !this.held.some((one) => one.identity === identity && one.removed === null && isInPart(one.node));
  }
  organizationsOf = (identity: string) => [...this.members].filter(([, of]) => of.has(identity)).map(([id]) => id);

  /** Returns the outcome of an assignment that the caller may make. */
  giving(wanted: Place & Window): 'created' | 'exists' | 'role_assignments.overlapping' {
    const there = this.held.filter(
      (one) =>
        one.removed === null &&
        one.identity === wanted.identity &&
        one.role === wanted.role &&
        one.node === wanted.node,
    );
    if (there.some(({ from, to }) => from === wanted.from && to === wanted.to)) return 'exists';
    const overlaps = there.some((one) => begins(one) < ends(wanted) && begins(wanted) < ends(one));
    return overlaps ? 'role_assignments.overlapping' : 'created';
  }
  isEmpty = (window: Window, at: number) => ends(window) <= Math.max(at, begins(window));

  /** The permissions that somebody would gain at a node by moving it, and does not hold there as long. */
  gained(caller: string, node: string, parent: string, at: number): string[] {
    const added = this.notEnded(at).filter(
      (one) => one.identity === caller && this.isAtOrBelow(parent, one.node) && !this.isAtOrBelow(node, one.node),
    );
    return [...this.keys].filter((key) => {
      const granting = added.filter(({ role }) => this.roles.get(role)?.keys.has(key));
      if (granting.length === 0) return false;
      const to = Math.max(...granting.map(ends));
      return (
        this.ungrantable(caller, [key], node, at, { from: null, to: to === Number.POSITIVE_INFINITY ? null : to })
          .length > 0
      );
    });
  }
  mayStandUnder = (type: string, parent: string) =>
    type === 'unit' || ['root', 'organization'].includes(this.nodes.get(parent)?.type as string);

  remove(top: string): string[] {
    const gone = this.below(top);
    for (const id of gone) {
      this.nodes.delete(id);
      this.members.delete(id);
    }
    this.held = this.held.filter(({ node }) => !gone.includes(node));
    return gone;
  }
  leave(identity: string): void {
    this.people.delete(identity);
    for (const of of this.members.values()) of.delete(identity);
    this.held = this.held.filter((one) => one.identity !== identity);
  }
  leaveOrganization(identity: string, organization: string, at: number): void {
    this.members.get(organization)?.delete(identity);
    for (const one of this.notEnded(at)) {
      const path = this.path(one.node);
      const inside = path.slice(path.indexOf(organization) + 1);
      const isElsewhere = inside.some((id) => this.members.get(id)?.has(identity));
      if (one.identity === identity && path.includes(organization) && !isElsewhere) one.removed = at;
    }
  }
}
