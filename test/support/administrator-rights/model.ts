import type { Level } from '../../../src/http/surfaces/operation.js';

/**
 * The rules of administrators' rights (contract §6 and §10, docs/administrator-roles.md) in their plainest form: every
 * question is answered by a loop over the roles that somebody holds.
 */

export interface Limits {
  application_ids: string[];
  environment_ids: string[];
  node_ids: string[];
}
export interface HeldRole {
  role: string;
  limits: Limits | null;
}
/** A part of the Account; without fields, the Account itself. */
export interface Place {
  application?: string;
  environment?: string;
  /** The nodes from the root to one. */
  path?: readonly string[];
}
export interface Session {
  person: string;
  /** The Account at whose identity provider it began. */
  via: string | null;
  isStrong: boolean;
  hasFactor: boolean;
  /** False once it has been revoked. */
  isAlive: boolean;
  expiresAt: number;
}
export interface Invite {
  id: string;
  email: string;
  role: string;
  limits: Limits | null;
  status: 'pending' | 'accepted' | 'revoked';
  expiresAt: number;
  link: number;
}
/** What an operation requires. */
export interface Asked {
  level: Level;
  /** Null: membership is enough. */
  capability: string | null;
  /** A role in a part of the place is enough. */
  inPart?: boolean;
  /** It also shows nodes that only lead to what the caller reaches. */
  onTheWay?: boolean;
  /** The node in the path at which the capability is required, and the code if it does not exist. */
  node?: { id: string; missing: string };
}
/** What the path names; null: something that does not exist in the Account. */
export interface Named {
  application?: string | null;
  environment?: string | null;
}

const lacks = '403 account.capability_required';

export class AccountModel {
  requireMfa = false;
  requireSso = false;
  readonly roles = new Map<string, { systemKey: string | null; capabilities: readonly string[] }>();
  /** By person. */
  readonly members = new Map<string, { id: string; held: HeldRole[] }>();
  readonly invites: Invite[] = [];
  readonly applications = new Set<string>();
  /** Each with its Application. */
  readonly environments = new Map<string, string>();
  readonly nodes = new Map<string, { environment: string; parent: string | null; type: string }>();

  constructor(readonly id: string) {}

  path(id: string): string[] {
    const parent = this.nodes.get(id)?.parent ?? null;
    return [...(parent === null ? [] : this.path(parent)), id];
  }
  isAtOrBelow = (id: string, top: string) => this.path(id).includes(top);
  ofEnvironment = (environment: string): Place => ({ application: this.environments.get(environment)!, environment });
  ofNode = (id: string): Place => ({ ...this.ofEnvironment(this.nodes.get(id)!.environment), path: this.path(id) });

  /** Every place that limits name. */
  named = (limits: Limits | null): Place[] =>
    limits === null
      ? [{}]
      : [
          ...limits.application_ids.map((application) => ({ application })),
          ...limits.environment_ids.map(this.ofEnvironment),
          ...limits.node_ids.map(this.ofNode),
        ];
  everyPlace = (): Place[] => [
    {},
    ...[...this.applications].map((application) => ({ application })),
    ...[...this.environments.keys()].map(this.ofEnvironment),
    ...[...this.nodes.keys()].map(this.ofNode),
  ];

  /** Whether a role applies at a place. */
  covers = (limits: Limits | null, { application, environment, path }: Place): boolean =>
    limits === null ||
    limits.application_ids.some((id) => id === application) ||
    limits.environment_ids.some((id) => id === environment) ||
    limits.node_ids.some((id) => path?.includes(id));
  /** Whether it applies there, or somewhere inside. */
  touches = (limits: Limits | null, place: Place): boolean =>
    this.covers(limits, place) ||
    place.application === undefined ||
    this.named(limits).some(
      (one) =>
        one.application === place.application &&
        (place.environment === undefined || one.environment === place.environment),
    );

  heldBy = (person: string): HeldRole[] => this.members.get(person)?.held ?? [];
  allowing = (held: readonly HeldRole[], capability: string) =>
    held.filter(({ role }) => this.roles.get(role)?.capabilities.includes(capability));
  may = (held: readonly HeldRole[], capability: string, place: Place) =>
    this.allowing(held, capability).some(({ limits }) => this.covers(limits, place));
  capabilitiesAt = (held: readonly HeldRole[], place: Place): Set<string> =>
    new Set(
      held
        .filter(({ limits }) => this.covers(limits, place))
        .flatMap(({ role }) => this.roles.get(role)?.capabilities ?? []),
    );
  isOwnerRole = ({ role }: HeldRole) => this.roles.get(role)?.systemKey === 'owner';
  makesOwner = (one: HeldRole) => this.isOwnerRole(one) && one.limits === null;
  owners = () => [...this.members].filter(([, { held }]) => held.some(this.makesOwner)).map(([person]) => person);
  isLastOwner = (person: string) => this.owners().join() === person;

  /** What the Account asks of a member's session before anything else. */
  owes({ person, via, isStrong, hasFactor }: Session): string | null {
    if (via !== null && via !== this.id) return 'account.other_sign_in_required';
    if (this.requireSso && via === null && !this.owners().includes(person)) return 'account.sso_required';
    if (!this.requireMfa || isStrong) return null;
    return hasFactor ? 'mfa.challenge_required' : 'mfa.enrollment_required';
  }

  /** The refusal of a request, in the contract's order; null if the caller may make it. */
  refusal(session: Session, asked: Asked, named: Named, at: number): string | null {
    if (!session.isAlive || session.expiresAt <= at) return '401';
    const held = this.members.get(session.person)?.held;
    if (!held) return '404 account.not_found';
    const owed = this.owes(session);
    if (owed) return `403 ${owed}`;

    const reaches = (place: Place) => held.some(({ limits }) => this.touches(limits, place));
    const { application, environment } = named;
    const isApplication = asked.level === 'account' || (!!application && reaches({ application }));
    const isThere =
      isApplication && (asked.level !== 'environment' || (!!environment && reaches(this.ofEnvironment(environment))));
    const place: Place =
      asked.level === 'account'
        ? {}
        : asked.level === 'application'
          ? { application: application! }
          : this.ofEnvironment(environment!);
    const counts = ({ limits }: HeldRole) =>
      !isThere || (asked.inPart ? this.touches(limits, place) : this.covers(limits, place));
    if (asked.capability === null) {
      if (asked.level === 'environment' && !held.some(counts)) return lacks;
    } else if (!this.allowing(held, asked.capability).some(counts)) return lacks;
    if (!isThere) return isApplication ? '404 environment.not_found' : '404 application.not_found';
    return asked.node ? this.refusalAt(held, asked, environment!) : null;
  }

  /** The refusal at a node: 403 for one that the caller knows of, 404 for all others. */
  refusalAt(held: readonly HeldRole[], { capability, onTheWay, node }: Asked, environment: string): string | null {
    const { id, missing } = node!;
    if (this.may(held, capability!, this.ofEnvironment(environment)) && !onTheWay) return null;
    const isHere = this.nodes.get(id)?.environment === environment;
    if (isHere && this.may(held, capability!, this.ofNode(id))) return null;
    const isRelated = (tops: readonly string[]) =>
      tops.some((top) => this.nodes.has(top) && (this.isAtOrBelow(id, top) || this.isAtOrBelow(top, id)));
    const topsOf = (roles: readonly HeldRole[]) => roles.flatMap(({ limits }) => limits?.node_ids ?? []);
    if (onTheWay) return isHere && isRelated(topsOf(this.allowing(held, capability!))) ? null : `404 ${missing}`;
    const knows = held.some(({ limits }) => this.covers(limits, this.ofEnvironment(environment)));
    return isHere && (knows || isRelated(topsOf(held))) ? lacks : `404 ${missing}`;
  }

  /** Why somebody may not grant a role; null if they may: only what they hold, wherever it will apply. */
  grantRefusal(giver: readonly HeldRole[], wanted: HeldRole): string | null {
    if (this.isOwnerRole(wanted) && !giver.some(this.makesOwner)) return '403 member.owner_required';
    const { capabilities } = this.roles.get(wanted.role)!;
    const lacking = (place: Place) => capabilities.some((one) => !this.may(giver, one, place));
    return this.named(wanted.limits).some(lacking) ? '403 administrator_role.cannot_grant' : null;
  }

  statusOf = ({ status, expiresAt }: Invite, at: number) =>
    status === 'pending' && expiresAt <= at ? 'expired' : status;

  /** Removes what is deleted from all limits; roles that only reached that reach nothing from then on. */
  forget(ids: readonly string[]): void {
    const held = [...this.members.values()].flatMap((member) => member.held);
    for (const { limits } of [...held, ...this.invites]) {
      if (!limits) continue;
      for (const kind of ['application_ids', 'environment_ids', 'node_ids'] as const)
        limits[kind] = limits[kind].filter((id) => !ids.includes(id));
    }
    for (const id of ids) {
      this.nodes.delete(id);
      this.environments.delete(id);
    }
  }
}

export const sameLimits = (a: Limits | null, b: Limits | null) =>
  JSON.stringify(a && sorted(a)) === JSON.stringify(b && sorted(b));
export const sorted = ({ application_ids, environment_ids, node_ids }: Limits): Limits => ({
  application_ids: [...application_ids].sort(),
  environment_ids: [...environment_ids].sort(),
  node_ids: [...node_ids].sort(),
});
