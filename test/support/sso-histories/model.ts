import type { EnvironmentScope } from '../../../src/platform/scope.js';
import { domainOf, isSame } from '../addresses.js';

/** An Environment; each person of its Account may be in several. */
export interface Place {
  scope: EnvironmentScope;
  isProduction: boolean;
}

export interface Organization {
  id: string;
  place: Place;
  isActive: boolean;
  requiresSso: boolean;
}

export interface Connection {
  id: string;
  type: 'saml' | 'oidc';
  place: Place;
  organization: Organization | null;
  /** Which of the providers of its type. */
  provider: 0 | 1;
  isActive: boolean;
  provisions: boolean;
  role: string | null;
  /** Whether the first name follows the provider. */
  mapsName: boolean;
  /** How often everything that its provider had said was forgotten. */
  era: number;
  isDeleted: boolean;
}

export interface Person {
  id: string;
  accountId: string;
  email: string;
  isVerified: boolean;
  /** Whether somebody other than the person, and other than the domain's owner, said that the address is verified. */
  isOnlyAsserted: boolean;
  hasPassword: boolean;
  firstName: string | null;
  /** Whether they are active in each Environment. */
  places: Map<Place, boolean>;
  organizations: Set<Organization>;
  /** As `node role`, the root being named by its Environment. */
  roles: Set<string>;
}

/** What a provider says about somebody. */
export interface Said {
  subject: string;
  /** An address says who has it now; every other subject says who the person is. */
  isAddress: boolean;
  email: string | null;
  /** Null: not said. */
  isVerified: boolean | null;
  firstName: string;
}

interface Link extends Pick<Said, 'subject' | 'isAddress'> {
  connection: Connection;
  person: Person;
}

export type Found =
  | { refusal: string }
  | { refusal: null; by: 'subject' | 'address' | 'new'; person: Person | null; joins: Joins };
interface Joins {
  place: boolean;
  organization: boolean;
}
export type Outcome = { refusal: string } | { refusal: null; person: Person; isBarred: boolean };

const no = (refusal: string) => ({ refusal });

/** Who is signed in as whom by an identity provider, as a reader of docs/sso.md and of decisions 0038, 0077 and 0094 would say. */
export class Model {
  people: Person[] = [];
  links: Link[] = [];
  connections: Connection[] = [];
  organizations: Organization[] = [];
  /** Who has verified a domain: as `owner domain`, the owner being an Account or an organization. */
  verified = new Set<string>();

  owner = ({ organization, place }: Pick<Connection, 'organization' | 'place'>) =>
    organization?.id ?? place.scope.accountId;
  speaksFor = (connection: Connection, email: string) =>
    this.verified.has(`${this.owner(connection)} ${domainOf(email)}`);
  isOpen = ({ isActive, organization, isDeleted }: Connection) =>
    isActive && !isDeleted && (organization?.isActive ?? true);
  byAddress = (accountId: string, email: string) =>
    this.people.find((person) => person.accountId === accountId && isSame(person.email, email)) ?? null;
  isInProduction = ({ places }: Person) => [...places.keys()].some(({ isProduction }) => isProduction);

  /** Returns the connection for an address that somebody types: known people and others have the same one. */
  connectionFor(place: Place, email: string): Connection | null {
    const usable = this.connections.filter((one) => one.place === place && this.isOpen(one));
    const speaking = usable.filter((one) => this.speaksFor(one, email));
    return speaking.find(({ organization }) => organization !== null) ?? speaking[0] ?? null;
  }

  recognize(connection: Connection, said: Said): Found {
    const { organization, place } = connection;
    const link = this.links.find((one) => one.connection === connection && one.subject === said.subject);
    if (link) {
      // An organization's provider may no longer sign in somebody who has left it and its domains.
      const isTheirs =
        organization === null ||
        link.person.organizations.has(organization) ||
        this.speaksFor(connection, link.person.email);
      return isTheirs ? this.admission(connection, link.person, 'subject') : no('domain_not_verified');
    }
    if (said.email === null) return no('email_missing');
    if (said.isVerified === false) return no('email_unverified');
    if (!this.speaksFor(connection, said.email)) return no('domain_not_verified');
    const person = this.byAddress(place.scope.accountId, said.email);
    const isKnownOtherwise = this.links.some(
      (one) => one.connection === connection && one.person === person && !one.isAddress,
    );
    if (person && isKnownOtherwise && (person.isVerified || this.isOutOfReach(place, person)))
      return no('subject_mismatch');
    return this.admission(connection, person, person ? 'address' : 'new');
  }

  private admission(
    { place, organization, provisions }: Connection,
    person: Person | null,
    by: 'subject' | 'address' | 'new',
  ): Found {
    if (person?.places.get(place) === false) return no('identity_inactive');
    const joins = {
      place: !person?.places.has(place),
      organization: organization !== null && !person?.organizations.has(organization),
    };
    if (!provisions && (joins.place || joins.organization)) return no(person ? 'not_a_member' : 'identity_unknown');
    return { refusal: null, by, person, joins };
  }

  /** Whether somebody is in production, whom a test Environment's provider does not change. */
  isOutOfReach = (place: Place, person: Person) => !place.isProduction && this.isInProduction(person);

  /** Whether nobody has shown that the address is theirs, or not as production demands it of somebody who arrives there. */
  isUnproved = (place: Place, person: Person) =>
    !person.isVerified || (person.isOnlyAsserted && place.isProduction && !this.isInProduction(person));

  /** Somebody shows that an address is theirs, which nobody had: whoever used it before loses what they had. */
  proved(person: Person): void {
    Object.assign(person, { isVerified: true, isOnlyAsserted: false, hasPassword: false });
    this.links = this.links.filter((one) => one.person !== person);
  }

  /** Carries out a sign-in. @param newId the id of a person who is new */
  signIn(connection: Connection, said: Said, newId: () => string): Outcome {
    if (!this.isOpen(connection)) return no('connection_disabled');
    const found = this.recognize(connection, said);
    if (found.refusal !== null) return found;
    const { place, organization, role, mapsName } = connection;
    const { by, joins } = found;
    const isNew = found.person === null;
    const person =
      found.person ??
      this.newPerson(place.scope.accountId, { id: newId(), email: said.email as string, firstName: said.firstName });
    const isUnproved = this.isUnproved(place, person); // as they arrive: from here on they may be in production
    if (joins.place) {
      person.places.set(place, true);
      if (role && !organization) person.roles.add(`${place.scope.environmentId} ${role}`);
    }
    if (joins.organization && organization) {
      this.joined(person, organization);
      if (role) person.roles.add(`${organization.id} ${role}`);
    }
    if (!isNew && by === 'address' && isUnproved && !this.isOutOfReach(place, person)) this.proved(person);
    if (!isNew && mapsName && !this.isOutOfReach(place, person)) person.firstName = said.firstName;
    if (by !== 'subject' || joins.organization)
      this.links.push({ connection, person, subject: said.subject, isAddress: said.isAddress });
    return { refusal: null, person, isBarred: this.isBarred(connection, person) };
  }

  /** Whether an organization of the person requires another provider. */
  private isBarred = (connection: Connection, { organizations }: Person) =>
    [...organizations].some((one) => {
      if (one.place !== connection.place || !one.isActive || !one.requiresSso) return false;
      const own = this.connections.some(({ organization }) => organization === one);
      return own ? connection.organization !== one : connection.organization !== null;
    });

  /** Adds somebody with a proved address, who has nothing yet. */
  newPerson(accountId: string, made: Pick<Person, 'id' | 'email' | 'firstName'>): Person {
    const person: Person = {
      ...{ ...made, accountId, isVerified: true, isOnlyAsserted: false, hasPassword: false },
      ...{ places: new Map(), organizations: new Set(), roles: new Set() },
    };
    this.people.push(person);
    return person;
  }

  /** Somebody joins an organization, whoever adds them: what its provider said before counts for nothing. */
  joined(person: Person, organization: Organization): void {
    person.organizations.add(organization);
    this.links = this.links.filter((one) => one.person !== person || one.connection.organization !== organization);
  }

  left(person: Person, organization: Organization): void {
    person.organizations.delete(organization);
    this.dropRoles(person, organization.id);
  }

  /** Deletes somebody from an Environment; without any they are gone. @returns whether they are */
  removed(person: Person, place: Place): boolean {
    for (const one of [...person.organizations]) if (one.place === place) this.left(person, one);
    this.dropRoles(person, place.scope.environmentId);
    person.places.delete(place);
    if (person.places.size > 0) return false;
    this.people = this.people.filter((one) => one !== person);
    this.links = this.links.filter((one) => one.person !== person);
    return true;
  }

  private dropRoles(person: Person, node: string): void {
    for (const held of person.roles) if (held.startsWith(node)) person.roles.delete(held);
  }

  /** What the provider said is forgotten: links, and sign-ins under way. */
  forgotten(connection: Connection): void {
    connection.era += 1;
    this.links = this.links.filter((one) => one.connection !== connection);
  }
}
