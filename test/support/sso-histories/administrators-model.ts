import { domainOf, isSame } from '../addresses.js';
import type { Said } from './model.js';

/** An Account, with its administrators. */
export interface Team {
  id: string;
}

export interface AdminConnection {
  id: string;
  type: 'saml' | 'oidc';
  team: Team;
  /** Which of the providers of its type. */
  provider: 0 | 1;
  isActive: boolean;
  provisions: boolean;
  /** How often everything that its provider had said was forgotten. */
  era: number;
}

/** A User, who is one person in all Accounts. */
export interface Administrator {
  id: string;
  email: string;
  isVerified: boolean;
  hasPassword: boolean;
  firstName: string;
  /** Their role in each Account, by its id. */
  roles: Map<string, string>;
}

interface Link extends Pick<Said, 'subject' | 'isAddress'> {
  connection: AdminConnection;
  person: Administrator;
}
type Outcome = { refusal: string } | { refusal: null; person: Administrator };

const no = (refusal: string) => ({ refusal });

/** Which administrator is signed in by an Account's provider, as a reader of docs/sso-saml.md and of decisions 0039 and 0094 would say. */
export class AdministratorsModel {
  people: Administrator[] = [];
  links: Link[] = [];
  /** In the order of their creation. */
  connections: AdminConnection[] = [];
  invites: { team: Team; email: string }[] = [];
  /** Which Account has verified a domain. */
  holders = new Map<string, Team>();

  byAddress = (email: string) => this.people.find((person) => isSame(person.email, email)) ?? null;
  speaksFor = ({ team }: AdminConnection, email: string) => this.holders.get(domainOf(email)) === team;

  /** Returns the connection to which a typed address leads, whoever has it. */
  connectionFor = (email: string) => this.connections.find((one) => one.isActive && this.speaksFor(one, email)) ?? null;

  /** Carries out a sign-in. @param newId the id of a person who is new */
  signIn(connection: AdminConnection, said: Said, newId: () => string): Outcome {
    if (!connection.isActive) return no('connection_disabled');
    const link = this.links.find((one) => one.connection === connection && one.subject === said.subject);
    const email = link?.person.email ?? said.email;
    if (email === null) return no('email_missing');
    if (!link && said.isVerified === false) return no('email_unverified');
    // At every sign-in, and for the person's own address: one Account must not sign in another's people.
    if (!this.speaksFor(connection, email)) return no('domain_not_verified');
    const known = link?.person ?? this.byAddress(email);
    const isKnownOtherwise = this.links.some(
      (one) => one.connection === connection && one.person === known && !one.isAddress,
    );
    if (!link && known?.isVerified && isKnownOtherwise) return no('subject_mismatch');
    const person = this.admitted(connection, { email, known, firstName: said.firstName }, newId);
    if (!person) return no(known ? 'not_a_member' : 'identity_unknown');
    if (!link) this.links.push({ connection, person, subject: said.subject, isAddress: said.isAddress });
    return { refusal: null, person };
  }

  private admitted(
    { team, provisions }: AdminConnection,
    { email, known, firstName }: { email: string; known: Administrator | null; firstName: string },
    newId: () => string,
  ): Administrator | null {
    if (known?.roles.has(team.id)) return this.proved(known, known.firstName);
    const invite = this.invites.find((one) => one.team === team && isSame(one.email, email));
    if (!invite && !provisions) return null;
    const name = invite ? 'Ivo' : firstName;
    const person = known ? this.proved(known, name) : this.newPerson({ id: newId(), email, firstName: name });
    person.roles.set(team.id, invite ? 'support' : 'viewer');
    this.invites = this.invites.filter((one) => one !== invite);
    return person;
  }

  /** Somebody whose address nobody had confirmed has no password that somebody else may know. */
  private proved(person: Administrator, firstName: string): Administrator {
    if (!person.isVerified) Object.assign(person, { isVerified: true, hasPassword: false, firstName });
    return person;
  }

  private newPerson(made: Pick<Administrator, 'id' | 'email' | 'firstName'>): Administrator {
    const person = { ...made, isVerified: true, hasPassword: false, roles: new Map() };
    this.people.push(person);
    return person;
  }

  /** What the provider said is forgotten: links, and sign-ins under way. */
  forgotten(connection: AdminConnection): void {
    connection.era += 1;
    this.links = this.links.filter((one) => one.connection !== connection);
  }
}
