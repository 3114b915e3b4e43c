import { minutes, seconds } from '../../../src/platform/clock.js';
import type { Browser } from '../oauth/browser.js';

const accessLife = minutes(15);
/** A use is recorded once in this time. */
const useStep = minutes(1);

export interface Application {
  /** Of the row; another one after the application was deleted and registered again. */
  id: string;
  place: Place;
  /** Where it receives logout tokens; null: nowhere. */
  receivesAt: string | null;
  /** Whether its tokens name the session alone. */
  sidAlone: boolean;
}
export interface Place {
  environmentId: string;
  /** How long a new session lasts, and any may be unused. */
  sessionLife: number;
  idleLife: number;
}
export interface Connection {
  id: string;
  type: 'saml' | 'oidc';
  leavesToo: boolean;
}
export interface Person {
  /** Null until their first sign-in, if an identity provider brings them. */
  id: string | null;
  email: string;
  /** By which they come; null: by a password. */
  by: Connection | null;
}

/** A sign-in by a provider, as far as it is remembered here. */
export interface ProviderSession {
  of: Person;
  by: Connection;
  /** Null: the provider has not named it. */
  index: string | null;
  isOver: boolean;
  /** Whether the person was sent there to sign out, by which it is forgotten. */
  isForgotten: boolean;
}
export interface Grant {
  to: Application;
  refresh: string;
  access: string;
  accessUntil: number;
  isAlive: boolean;
}
export interface Session {
  id: string;
  of: Person;
  at: Place;
  /** The browser whose cookie names it; null: none any more. */
  browser: Browser | null;
  endsAt: number;
  usedAt: number;
  isAlive: boolean;
  /** The last and the earlier sign-ins by which it has gone on. */
  came: ProviderSession[];
  grants: Grant[];
  /** The ID tokens that the applications have of it. */
  hints: { to: Application; token: string }[];
}

/** What a logout token says, and to whom. */
export interface Told {
  to: string;
  sid: string;
  sub: string | undefined;
}

/** What a provider says is over: sessions by name, or all (no names). */
export interface Ended {
  of: Person | null;
  indexes: readonly string[];
  /** What ends if it has named none that is known. */
  ifUnknown: 'all' | 'unnamed';
}

/** Keeps who is signed in where, as a reader of the documents would (docs/sso.md, docs/clients.md, decisions 0006, 0046, 0110). */
export class Model {
  sessions: Session[] = [];
  providerSessions: ProviderSession[] = [];
  /** The logout tokens that are due since they were last taken. */
  due: Told[] = [];

  /** Returns the browser's session that a sign-in goes on with, or ends: one whose time is not over. */
  sessionIn = (browser: Browser, at: Place, now: number): Session | undefined =>
    this.sessions.find((one) => one.isAlive && one.browser === browser && one.at === at && now < one.endsAt);

  /** Returns the session by which the browser gets a code without being asked, and counts that as a use. */
  use(browser: Browser, at: Place, now: number): Session | undefined {
    const session = this.sessionIn(browser, at, now);
    if (!session || now >= session.usedAt + at.idleLife) return undefined;
    if (now - session.usedAt >= useStep) session.usedAt = now;
    return session;
  }

  /** Signs a person in. @returns the session that goes on, or null if there is a new one */
  signIn(of: Person, where: { browser: Browser; at: Place }, by: ProviderSession | null, now: number): Session | null {
    const { browser, at } = where;
    const before = this.sessionIn(browser, at, now);
    // The cookie is a new one, which names no session whose time is over.
    for (const one of this.sessions) if (one.browser === browser && now >= one.endsAt) one.browser = null;
    if (before && before.of !== of) this.end([before]);
    if (!before?.isAlive) return null;
    before.usedAt = now;
    before.endsAt = now + at.sessionLife;
    if (by) before.came.push(by);
    return before;
  }

  began(session: Pick<Session, 'id' | 'of' | 'at' | 'browser'>, by: ProviderSession | null, now: number): Session {
    const times = { endsAt: now + session.at.sessionLife, usedAt: now, isAlive: true };
    const made = { ...session, ...times, came: by ? [by] : [], grants: [], hints: [] };
    this.sessions.push(made);
    return made;
  }

  grant(
    session: Session,
    to: Application,
    tokens: { refresh_token: string; access_token: string; id_token: string },
    now: number,
  ): void {
    const { refresh_token: refresh, access_token: access } = tokens;
    session.grants.push({ to, refresh, access, accessUntil: now + accessLife, isAlive: true });
    session.hints.push({ to, token: tokens.id_token });
  }

  /** Ends sessions with all that was given in them; their applications are told, once each. */
  end(sessions: readonly Session[]): void {
    for (const session of sessions) {
      if (!session.isAlive) continue;
      session.isAlive = false;
      const applications = new Set(session.grants.map(({ to }) => to));
      for (const { receivesAt, sidAlone } of applications)
        if (receivesAt !== null)
          this.due.push({ to: receivesAt, sid: session.id, sub: sidAlone ? undefined : (session.of.id ?? '') });
      for (const grant of session.grants) grant.isAlive = false;
    }
  }

  endOf(of: Person, { at, except }: { at?: Place; except?: Session } = {}): void {
    const theirs = this.sessions.filter(
      (one) => one.of === of && one !== except && (at === undefined || one.at === at),
    );
    this.end(theirs);
  }

  /** Takes from an application what it was given of a person, or of everybody; the sessions go on, and nobody is told. */
  takeBack(from: Application, of: Person | null): void {
    const theirs = this.sessions.filter((one) => of === null || one.of === of);
    for (const grant of theirs.flatMap(({ grants }) => grants)) if (grant.to === from) grant.isAlive = false;
  }

  /**
   * A provider reports sessions of its own as over.
   * @param coming those of accepted answers that still wait for their browsers
   */
  endByProvider(by: Connection, { of, indexes, ifUnknown }: Ended, coming: readonly ProviderSession[]): void {
    const isTheirs = (one: ProviderSession) => one.by === by && (of === null || one.of === of);
    // An answer that was withdrawn before is known no longer.
    const all = [...this.providerSessions, ...coming.filter(({ isOver }) => !isOver)].filter(isTheirs);
    const named = all.filter((one) => !one.isForgotten && one.index !== null && indexes.includes(one.index));
    const unnamed = all.filter(({ index }) => index === null);
    const isEverything = of !== null && (indexes.length === 0 || (named.length === 0 && ifUnknown === 'all'));
    const meant = isEverything ? all : named.length > 0 || of === null ? named : unnamed;
    for (const one of meant) one.isOver = true;
    // An answer that names no session may be about any of the person's.
    if (of !== null) for (const one of coming) if (isTheirs(one) && one.index === null) one.isOver = true;
    // The name of an OpenID provider's session is never used again, whoever the token says it belongs to.
    for (const one of coming)
      if (by.type === 'oidc' && one.by === by && one.index !== null && indexes.includes(one.index)) one.isOver = true;
    this.end(this.sessions.filter(({ came }) => came.some((one) => meant.includes(one))));
  }

  /** Returns where people are sent who have signed out of sessions in their browser: to each provider once, for its latest. */
  toLeave(ended: readonly Session[]): ProviderSession[] {
    const open = ended
      .flatMap(({ came }) => came)
      .filter(({ by, isOver, isForgotten }) => by.leavesToo && !isOver && !isForgotten);
    return this.providerSessions.filter(
      (one, at) =>
        open.includes(one) &&
        !this.providerSessions.some((later, i) => i > at && open.includes(later) && later.by === one.by),
    );
  }

  isGood = (grant: Grant, now: number) => ({
    refresh: grant.isAlive,
    access: grant.isAlive && now < grant.accessUntil,
  });
}

export const tick = seconds(1);
