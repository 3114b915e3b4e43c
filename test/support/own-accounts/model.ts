import { hours, minutes, seconds } from '../../../src/platform/clock.js';
import { Graces } from '../graces-model.js';
import type {
  Answer,
  Factor,
  Kind,
  Link,
  MailedCode,
  Page,
  Pending,
  Person,
  Proof,
  Request,
  Session,
  Tries,
  Visitor,
} from './state.js';

export const codeLife = minutes(10);
export const proofLife = minutes(10);
/** A form that is sent twice within it is answered like the first time. */
export const twice = minutes(1);
const kinds: readonly Kind[] = ['totp', 'webauthn', 'email_otp'];

/** What follows a proof. */
export type Decision =
  | { step: 'done'; hasSecond: boolean; isStrong: boolean }
  | { step: 'challenge'; factors: Answer[] }
  | { step: 'enroll'; factors: Kind[]; until: number | null }
  | { step: 'refused' };

interface Asked {
  isStrong: boolean;
  /** Whether it is for a change that only the owner may make. */
  isOwner: boolean;
}

/** Keeps the state as a reader of the specification, of the contract and of decisions 0006, 0012, 0013, 0015 and 0111 would. */
export class OwnAccounts {
  mfaPolicy: 'off' | 'optional' | 'required' = 'optional';
  graceDays = 7;
  allowed: Answer[] = ['totp', 'recovery_code', 'email_otp', 'webauthn'];
  trustedDays = 30;
  mailsCodes = true;
  changesEmail = true;
  organizationRequires = false;
  members = new Set<Person>();
  people: Person[] = [];
  visitors: Visitor[] = [];
  sessions: Session[] = [];
  pendings: Pending[] = [];
  pages: Page[] = [];
  links: Link[] = [];
  codes: MailedCode[] = [];
  /** By what is guessed and whose it is. */
  tries = new Map<string, Tries>();
  mails = new Map<string, number>();
  graces = new Graces();

  byAddress = (email: string) =>
    this.people.find((one) => one.isMember && one.email.toLowerCase() === email.toLowerCase()) ?? null;
  requires = (person: Person) =>
    this.mfaPolicy === 'required' || (this.organizationRequires && this.members.has(person));
  has = ({ factors }: Person, kind: Kind) => factors.some((one) => one.kind === kind);

  /** Factors that the person can show, whether or not the Environment accepts them. */
  shows = (person: Person): Kind[] =>
    kinds.filter((kind) => this.has(person, kind) && (kind !== 'email_otp' || person.isVerified));

  liveSession({ session }: Visitor, at: number): Session | null {
    return session?.isAlive && at < session.endsAt && session.person.isActive && session.person.isMember
      ? session
      : null;
  }

  /** What can follow: what is enough, what can be shown if nothing is, and what can be enrolled. */
  choices({ person, began, isSession }: Proof, isStrong: boolean) {
    // A mailed code adds nothing to a sign-in by mail, nor a key to a sign-in by a key; and it never makes aal2.
    const adds = (kind: Kind) =>
      !(kind === 'email_otp' && began === 'email_otp') && !(kind === 'webauthn' && began === 'passkey' && !isSession);
    const taken = kinds.filter(
      (kind) => adds(kind) && this.allowed.includes(kind) && !(kind === 'email_otp' && isStrong),
    );
    const lasting = taken.filter((kind) => kind !== 'email_otp' || person.isVerified);
    const shown = this.shows(person).filter(adds);
    const enough: Answer[] = taken.filter((kind) => shown.includes(kind));
    const hasCodes = person.factors.length > 0 && person.recoveryCodes.length > 0;
    const enrollable = lasting.length > 0 ? lasting : taken;
    if (enough.length === 0)
      return { enrollable, usable: [], provable: [...shown, ...(hasCodes ? ['recovery_code' as const] : [])] };
    if (taken.includes('email_otp') && person.isVerified && !enough.includes('email_otp')) enough.push('email_otp');
    if (this.allowed.includes('recovery_code') && hasCodes) enough.push('recovery_code');
    return { enrollable, usable: enough, provable: [] as Answer[] };
  }

  /** What a sign-in answers to a challenge with. */
  factorsOf({ proof, requiresStrong }: Pending): Answer[] {
    const { usable, provable } = this.choices(proof, requiresStrong);
    return usable.length > 0 ? usable : provable;
  }

  decide(
    proof: Proof,
    asked: Asked,
    { hasProved, isTrusted, at }: { hasProved: boolean; isTrusted: boolean; at: number },
  ): Decision {
    const { person } = proof;
    const done = (hasSecond = proof.hasSecond, isStrong = proof.isStrong) => ({
      step: 'done' as const,
      hasSecond,
      isStrong,
    });
    const isRequired = this.requires(person);
    const isShown = proof.hasSecond && (proof.isStrong || (proof.amr.includes('otp') && proof.amr.length > 1));
    const counts = asked.isOwner ? isShown : proof.hasSecond;
    const isEnough = asked.isStrong ? proof.isStrong : (this.mfaPolicy === 'off' && !isRequired) || counts;
    if (isEnough) return done();
    const { usable, provable, enrollable } = this.choices(proof, asked.isStrong);
    if (usable.length > 0) {
      const mayTrust = isTrusted && !asked.isStrong && !asked.isOwner && this.trustedDays > 0;
      return mayTrust ? done(true, false) : { step: 'challenge', factors: usable };
    }
    if (!asked.isStrong && !isRequired) return done();
    const has = hasProved || isShown || proof.hasOwn;
    const isMailedAlone =
      provable.includes('email_otp') && provable.every((kind) => ['email_otp', 'recovery_code'].includes(kind));
    if (asked.isOwner && isMailedAlone) {
      if (!has) return { step: 'challenge', factors: provable };
      if (!isRequired && proof.amr.includes('otp')) return done();
    }
    if (enrollable.length === 0) return done();
    const end = isRequired ? this.graces.endOf(person, this.graceDays, at) : null;
    const isOver = end !== null && end <= at;
    if (isOver && provable.length === 0 && !has) return { step: 'refused' };
    const until = asked.isStrong || isOver ? null : end;
    if (until !== null && proof.isSession) return done();
    if (provable.length > 0 && !has) return { step: 'challenge', factors: provable };
    return { step: 'enroll', factors: enrollable, until };
  }

  /** The proof with a second factor. */
  withSecond(proof: Proof, kind: Answer, amr: readonly string[]): Proof {
    const counts = this.allowed.includes(kind);
    const isStrong = counts && kind !== 'email_otp';
    const all = [...proof.amr, ...amr, ...(isStrong ? ['mfa'] : [])];
    return {
      ...proof,
      amr: [...new Set(all)],
      isStrong: proof.isStrong || isStrong,
      hasSecond: counts || (proof.isStrong && proof.hasSecond),
      hasOwn: true,
    };
  }

  /** Whether a session is recent and strong enough, or what another sign-in has to bring; null: none can. */
  owes(
    session: Session,
    change: 'password' | 'factors',
    at: number,
  ): { maxAge: number; isStrong: boolean } | 'nothing' | null {
    const shown = this.shows(session.person);
    const hasStrong = shown.some((kind) => kind !== 'email_otp');
    const owesCode = change === 'factors' && shown.length > 0 && !hasStrong && !session.amr.includes('otp');
    const isAsked = this.mfaPolicy !== 'off' && this.allowed.includes('email_otp');
    const isFresh = at < session.at + proofLife;
    if (isFresh && (session.isStrong || !(hasStrong || owesCode))) return 'nothing';
    if (hasStrong && !session.isStrong && !this.allowed.includes('totp') && !this.allowed.includes('webauthn'))
      return null;
    return { maxAge: isFresh ? 600 : 480, isStrong: hasStrong || (owesCode && !isAsked) };
  }

  /** A sign-in is complete: the browser's session continues, or is replaced. Null if what it strengthens has ended. */
  begin(visitor: Visitor, { isSession, ...proof }: Proof, at: number): Session | null {
    const { session: before } = visitor;
    const isOpen = before?.isAlive && at < before.endsAt;
    if (isOpen && before.person === proof.person) {
      const endsAt = at + hours(12);
      return Object.assign(before, proof, { endsAt: isSession ? Math.min(before.endsAt, endsAt) : endsAt });
    }
    if (isSession) return null;
    if (isOpen) before.isAlive = false;
    const fresh = { factorCodes: [], addressCodes: [], isAlive: true };
    const session = { ...proof, ...fresh, id: '', endsAt: at + hours(12) };
    this.sessions.push(session);
    visitor.session = session;
    return session;
  }

  /** Ends sessions, and what would become one. */
  endSessions(
    person: Person,
    { keep = null, alsoSteps = false }: { keep?: Session | null; alsoSteps?: boolean },
    at: number,
  ): void {
    for (const one of this.sessions) if (one.person === person && one !== keep) one.isAlive = false;
    for (const one of this.pendings)
      if (one.proof.person === person && (alsoSteps || !one.proof.isSession)) one.completedAt ??= at;
  }
  distrust(person: Person): void {
    for (const { trusts } of this.visitors) trusts.delete(person);
  }
  newPassword(person: Person, password: string | null, keep: Session | null, at: number): void {
    Object.assign(person, { password, setAt: at });
    for (const one of person.factors) one.signsIn = false;
    this.endSessions(person, { keep, alsoSteps: true }, at);
    this.distrust(person);
    for (const link of this.links) if (link.person === person && link.to === 'reset') link.isVoid = true;
  }
  /** The proof of an address that nobody had confirmed ends what its holder before could sign in with. */
  proved(person: Person, at: number): void {
    Object.assign(person, { isVerified: true, factors: [], recoveryCodes: [], parked: null });
    if (person.grace) person.grace.status = 'reset';
    this.endSessions(person, { alsoSteps: true }, at);
    this.distrust(person);
  }
  moved(person: Person, email: string, at: number): void {
    Object.assign(person, { email });
    for (const link of this.links) if (link.person === person) link.isVoid = true;
    for (const code of this.codes)
      if (code.person === person) Object.assign(code, { isVoid: true, usedAt: code.usedAt ?? at });
  }

  /** Counts a try before it is checked; answers which limit refuses it, if one does. */
  try(what: string, whose: string): 'burst' | 'day' | null {
    const tries = this.triesOf(what, whose);
    if (tries.burst >= 10) return 'burst';
    tries.burst++;
    if (tries.day >= 50) return 'day';
    tries.day++;
    return null;
  }
  right(what: string, whose: string): void {
    const tries = this.triesOf(what, whose);
    Object.assign(tries, { burst: tries.burst - 1, day: 0 });
  }
  /** The try proved nothing, or guessed nothing. */
  takenBack(what: string, whose: string): void {
    const tries = this.triesOf(what, whose);
    Object.assign(tries, { burst: tries.burst - 1, day: Math.max(0, tries.day - 1) });
  }
  isLocked = (what: string, whose: string) => {
    const { burst, day } = this.triesOf(what, whose);
    return burst >= 10 ? 'burst' : day >= 50 ? 'day' : null;
  };
  triesOf(what: string, whose: string): Tries {
    const key = `${what} ${whose.toLowerCase()}`;
    const tries = this.tries.get(key) ?? { burst: 0, day: 0 };
    this.tries.set(key, tries);
    return tries;
  }
  /** Counts a mail; whether it is still sent. */
  mayMail(what: string, whose: string, most: number): boolean {
    const key = `${what} ${whose.toLowerCase()}`;
    const sent = (this.mails.get(key) ?? 0) + 1;
    this.mails.set(key, sent);
    return sent <= most;
  }

  /** Tries a mailed code, the newest of its page. */
  enter(codes: readonly MailedCode[], typed: string, at: number): 'right' | 'wrong' | 'void' | 'spent' {
    const newest = codes.at(-1);
    if (!newest) return 'void';
    const isAlive = !newest.isVoid && newest.usedAt === null && at < newest.madeAt + codeLife && newest.tries < 5;
    if (isAlive) newest.tries++;
    if (isAlive && newest.digits === typed) {
      newest.usedAt = at;
      return 'right';
    }
    if (isAlive) return 'wrong';
    return newest.usedAt !== null && at - newest.usedAt < twice && newest.digits === typed ? 'spent' : 'void';
  }

  /** An app's code: right within a step of now, and later than the last one. */
  enterApp({ factors }: Person, stepOf: (factor: Factor) => number | null): boolean {
    for (const factor of factors) {
      const step = factor.app && stepOf(factor);
      if (!factor.app || step === null || step <= factor.app.lastStep) continue;
      factor.app.lastStep = step;
      return true;
    }
    return false;
  }

  /** The request once somebody has signed in for it. */
  once = ({ params, ...request }: Request): Request => {
    const { prompt: _, max_age: __, ...rest } = params;
    return { ...request, params: rest, prompt: null, maxAge: null };
  };

  /** Whether a session is recent enough for a request. */
  suits = (session: Session, { prompt, maxAge }: Request, at: number): boolean =>
    prompt !== 'login' && (maxAge === null || at < session.at + seconds(maxAge));
}
