import { AccessModel, type HeldRole } from '../access-model.js';
import { domainOf, isSame } from '../addresses.js';

/**
 * Who exists, is active where, is a member of what and has which roles, after what directories and administrators have
 * done: the rules of docs/scim.md and of contract §5 in their plainest form. Nothing is stored that follows from
 * something else: what groups grant is computed anew from groups, members and mappings.
 */

/** The id of the Environment, for the Account's directory, or of an organization. It also names who has verified a domain. */
export type DirectoryId = string;

/** What a directory says about a person whom it provisions. */
export interface DirectoryUser {
  directory: DirectoryId;
  userName: string;
  externalId: string | null;
  title: string | null;
  department: string | null;
  /** Whether the address was sent by itself, or is the `userName`; `work`: sent with this type. */
  emails: 'none' | 'primary' | 'work';
  /** Whether the directory has made them a member of the Environment. */
  made: boolean;
  /** Whether the directory has deactivated them. */
  isSuspended: boolean;
}
export interface Person {
  id: string;
  email: string;
  verifiedAt: number | null;
  /** Whether the verification of the address was only asserted. */
  isAsserted: boolean;
  hasPassword: boolean;
  firstName: string | null;
  lastName: string | null;
  /** When they became a member of the Environment; null: they are none. */
  joinedAt: number | null;
  isActive: boolean;
  /** The directory that had deactivated them before it stopped provisioning them. */
  keptOutBy: DirectoryId | null;
  isInProduction: boolean;
  wasSignedIn: boolean;
  isSignedIn: boolean;
  user: DirectoryUser | null;
}
export interface Group {
  id: string;
  directory: DirectoryId;
  name: string;
  externalId: string | null;
  members: string[];
}
export interface Mapping {
  id: string;
  directory: DirectoryId;
  /** The id of a group, or a name. */
  group: { id: string } | { name: string };
  role: string;
  node: string;
}
export interface Invite {
  id: string;
  organization: string;
  email: string;
  roles: string[];
  madeAt: number;
}
export interface Place {
  identity: string;
  role: string;
  node: string;
}
export const keyOf = ({ identity, role, node }: Place) => `${identity} ${role} ${node}`;

export class DirectoriesModel {
  people: Person[] = [];
  groups: Group[] = [];
  mappings: Mapping[] = [];
  /** Roles that were assigned by hand. */
  byHand: Place[] = [];
  /**
   * Roles that groups grant and that were removed in another way: groups grant them again at their next change, which
   * may be at any time (docs/decisions/0040).
   */
  gaps = new Set<string>();
  invites: Invite[] = [];
  members = new Map<string, Set<string>>();
  /** Who has verified a domain. */
  domains = new Map<string, Set<DirectoryId>>();
  /** The tree, the roles and how a decision follows from them. */
  readonly access: AccessModel;

  constructor(
    readonly environment: DirectoryId,
    root: string,
    keys: Set<string>,
  ) {
    this.access = new AccessModel(root, keys);
  }

  /** Does work that changes all or nothing. @returns the refusal, if there is one */
  attempt(work: () => void): string | null {
    const { people, groups, mappings, byHand, gaps, invites, members } = this;
    const before = structuredClone({ people, groups, mappings, byHand, gaps, invites, members });
    try {
      work();
      return null;
    } catch (refusal) {
      if (typeof refusal !== 'string') throw refusal;
      Object.assign(this, before);
      return refusal;
    }
  }

  isOrganization = (directory: DirectoryId) => directory !== this.environment;
  person = (id: string) => this.people.find((one) => one.id === id);
  byEmail = (email: string) => this.people.find((one) => isSame(one.email, email));
  /** Somebody who is a member of nothing any more is erased, and their address is free after that. */
  isBeingErased = ({ joinedAt, isInProduction }: Person) => joinedAt === null && !isInProduction;
  isMember = (organization: string, { id }: Person) => this.members.get(organization)?.has(id) === true;
  organizationsOf = (person: Person) => [...this.members.keys()].filter((one) => this.isMember(one, person));
  /** Whether a person is in the place that a directory provisions. */
  isIn = (directory: DirectoryId, person: Person) =>
    !this.isOrganization(directory) || this.isMember(directory, person);
  isSeenBy = (directory: DirectoryId, person: Person) =>
    person.joinedAt !== null && (this.isIn(directory, person) || person.user?.directory === directory);
  usersOf = (directory: DirectoryId) =>
    this.people.filter((one) => this.isSeenBy(directory, one)).sort((a, b) => Number(a.joinedAt) - Number(b.joinedAt));
  groupsOf = (directory: DirectoryId) => this.groups.filter((one) => one.directory === directory);

  holderOf(directory: DirectoryId, email: string): 'owner' | 'another' | 'nobody' {
    const owners = this.domains.get(domainOf(email)) ?? new Set();
    if (owners.has(directory)) return 'owner';
    return this.isOrganization(directory) && owners.size > 0 ? 'another' : 'nobody';
  }
  vouches = (directory: DirectoryId, email: string) => this.holderOf(directory, email) === 'owner';
  isElsewhere = (directory: DirectoryId, person: Person) =>
    this.organizationsOf(person).some((one) => one !== directory);

  /** What groups grant now. */
  byGroups(): (Place & { directory: DirectoryId })[] {
    return this.groups.flatMap(({ id, name, directory, members }) =>
      this.mappings
        .filter((one) => one.directory === directory)
        .filter(({ group }) => ('id' in group ? group.id === id : isSame(group.name, name)))
        .flatMap(({ role, node }) =>
          members
            .filter((identity) => this.isIn(directory, this.person(identity) as Person))
            .map((identity) => ({ identity, role, node, directory })),
        ),
    );
  }

  /** Every role that somebody holds, by hand (null) or from the groups of a directory. */
  held(): Map<string, Place & { from: DirectoryId | null }> {
    const held = new Map<string, Place & { from: DirectoryId | null }>();
    for (const { directory: from, ...place } of this.byGroups())
      if (!this.gaps.has(keyOf(place))) held.set(keyOf(place), { ...place, from });
    for (const place of this.byHand) held.set(keyOf(place), { ...place, from: null });
    return held;
  }

  /** Forgets gaps for which there is no reason any more, and those that were seen to be filled. */
  settleGaps(seen: Set<string>): void {
    const reasons = new Set(this.byGroups().map(keyOf));
    for (const place of this.byHand) reasons.delete(keyOf(place));
    for (const key of this.gaps) if (!reasons.has(key) || seen.has(key)) this.gaps.delete(key);
  }

  /** The rules of decisions, with what everybody holds now. */
  decisions(): AccessModel {
    this.access.people.clear();
    for (const { id, joinedAt, isActive } of this.people)
      if (joinedAt !== null) this.access.people.set(id, { isActive });
    const ever = { from: null, to: null, made: 0, removed: null };
    this.access.held = [...this.held().values()].map(
      ({ from: _, ...place }): HeldRole => ({ id: keyOf(place), ...place, ...ever }),
    );
    return this.access;
  }

  give(place: Place): '200' | '201' {
    const isThere = this.held().has(keyOf(place));
    if (!this.byHand.some((one) => keyOf(one) === keyOf(place))) this.byHand.push(place);
    return isThere ? '200' : '201';
  }
  /** Removes roles, whoever granted them. */
  take(which: (place: Place) => boolean): void {
    for (const [key, place] of this.held()) if (which(place)) this.gaps.add(key);
    this.byHand = this.byHand.filter((one) => !which(one));
  }

  join(person: Person, organization: string): void {
    this.members.get(organization)?.add(person.id);
  }
  /** Ends a membership, with the roles at the organization and below it, and what would bring the person back. */
  leave(person: Person, organization: string): void {
    this.members.get(organization)?.delete(person.id);
    this.take(({ identity, node }) => {
      const path = this.access.path(node);
      const deeper = path.slice(path.indexOf(organization) + 1);
      const isStill = deeper.some((one) => this.members.get(one)?.has(identity));
      return identity === person.id && path.includes(organization) && !isStill;
    });
    this.invites = this.invites.filter((one) => one.organization !== organization || !isSame(one.email, person.email));
  }
  leaveGroups({ id }: Person): void {
    for (const group of this.groups) group.members = group.members.filter((one) => one !== id);
  }

  joinEnvironment(person: Person, at: number): void {
    Object.assign(person, { joinedAt: at, isActive: true, keptOutBy: null, isSignedIn: false });
  }
  leaveEnvironment(person: Person): void {
    for (const one of this.organizationsOf(person)) this.members.get(one)?.delete(person.id);
    this.leaveGroups(person);
    this.byHand = this.byHand.filter(({ identity }) => identity !== person.id);
    this.invites = this.invites.filter(({ email }) => !isSame(email, person.email));
    Object.assign(person, { joinedAt: null, user: null, keptOutBy: null, isSignedIn: false });
  }

  /** Activates or deactivates in the Environment: from then on, no directory's deactivation counts. */
  setActive(person: Person, isActive: boolean): void {
    if (person.user) person.user.isSuspended = false;
    person.keptOutBy = null;
    if (!isActive) person.isSignedIn = false;
    person.isActive = isActive;
  }

  /** Makes a person the owner of their address, and of nothing that somebody did with it before. */
  prove(person: Person, at: number, hasPassword: boolean): void {
    Object.assign(person, { verifiedAt: at, isAsserted: false, hasPassword, isSignedIn: false });
  }

  /** Moves a node; what it has left ends there. */
  moveNode(id: string, parent: string): void {
    const node = this.access.nodes.get(id);
    if (node) Object.assign(node, { parent, version: node.version + 1 });
    this.mappings = this.mappings.filter(
      (one) => !this.isOrganization(one.directory) || this.access.path(one.node).includes(one.directory),
    );
  }
  removeNode(top: string): void {
    const gone = this.access.remove(top);
    this.byHand = this.byHand.filter(({ node }) => !gone.includes(node));
    this.mappings = this.mappings.filter((one) => !gone.includes(one.node) && !gone.includes(one.directory));
    this.groups = this.groups.filter(({ directory }) => !gone.includes(directory));
    this.invites = this.invites.filter(({ organization }) => !gone.includes(organization));
    for (const id of gone) this.members.delete(id);
    for (const owners of this.domains.values()) for (const id of gone) owners.delete(id);
    for (const person of this.people)
      if (person.user && gone.includes(person.user.directory)) this.stopProvisioning(person);
  }

  /** Somebody who is deactivated by the directory that stops provisioning them stays deactivated by it. */
  stopProvisioning(person: Person): void {
    if (person.user?.isSuspended && !person.isActive) person.keptOutBy = person.user.directory;
    person.user = null;
  }
}
