import type { EnvironmentScope } from '../../src/platform/scope.js';
import type { TestTotp } from './mfa.js';
import type { TestClient } from './oauth/environment.js';

/** An Environment in which people sign in at a client. */
export interface Place {
  scope: EnvironmentScope;
  client: TestClient;
}
export interface Person {
  id: string;
  email: string;
  /** Null after a forced reset. */
  password: string | null;
  app: TestTotp | null;
  keptOutOf: Set<Place>;
}
interface Theirs {
  of: Person;
  at: Place;
  isAlive: boolean;
}
export interface Session extends Theirs {
  id: string;
  access: string;
  issuedAt: number;
  provedAt: number;
}
/** A sign-in that waits for a second factor. */
export interface Challenge extends Theirs {
  token: string;
  begunAt: number;
}
/** A mailed link that sets a password. */
export interface Link extends Theirs {
  token: string;
  madeAt: number;
}
/** A code that was mailed to a new address. */
export interface Code {
  digits: string;
  /** The session that asked for it. */
  in: Session;
  email: string;
  madeAt: number;
  tries: number;
  usedAt: number | null;
  isAlive: boolean;
}

/** Keeps what people are signed in with, and what would sign them in, as a reader of the contract would. */
export class AccessModel {
  sessions: Session[] = [];
  challenges: Challenge[] = [];
  links: Link[] = [];
  codes: Code[] = [];

  private end(which: readonly Theirs[], of: Person, at: Place | null): void {
    for (const one of which) if (one.of === of && (at === null || one.at === at)) one.isAlive = false;
  }

  /** Ends sessions, and sign-ins that wait for a second factor: in one Environment, or in the whole Account. */
  endAccess(of: Person, at: Place | null, keep: Session | null = null): void {
    this.end(
      this.sessions.filter((session) => session !== keep),
      of,
      at,
    );
    this.end(this.challenges, of, at);
  }

  /** Makes void what was mailed to a person, and what was mailed to an address that is to be theirs. */
  voidMail(of: Person): void {
    this.end(this.links, of, null);
    for (const code of this.codes) if (code.in.of === of) code.isAlive = false;
  }

  newPassword(of: Person, password: string | null, keep: Session | null = null): void {
    of.password = password;
    this.endAccess(of, null, keep);
    this.voidMail(of);
  }

  newAddress(of: Person, email: string): void {
    of.email = email;
    this.voidMail(of);
  }
}
