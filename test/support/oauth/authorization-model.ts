import { days, hours, minutes, seconds } from '../../../src/platform/clock.js';
import { type Asked, anyProgram, type ModelClient, readRequest, type Sent } from './authorization-requests.js';
import {
  aal1,
  aal2,
  type ModelBrowser,
  type Outcome,
  type Person,
  type Proof,
  type Proved,
  type Session,
  type Waiting,
} from './authorization-states.js';

/**
 * The authorization endpoint of one Environment in its plainest form: RFC 6749 §4.1, OpenID Connect Core 3.1.2, the
 * contract (§2, §3, §10) and docs/decisions/0063. Times are milliseconds.
 */

const newFor = hours(1);
const says = (asked: Asked, prompt: string) => asked.prompts.includes(prompt);

export class AuthorizationModel {
  settings = {
    mfaPolicy: 'optional' as 'off' | 'optional' | 'required',
    confirms: false,
    sessionLife: hours(12),
    idleLife: null as number | null,
    tokenLife: minutes(15),
    grantLife: days(90),
  };
  policy = { requiresMfa: false, requiresSso: false, allowsPassword: true, sessionLife: null as number | null };
  people: Person[] = [];
  consents = new Map<string, Set<string>>();

  /** @param canPostpone whether people have time to enroll a factor */
  constructor(
    readonly isProduction: boolean,
    readonly canPostpone: boolean,
    readonly clients: ModelClient[],
    readonly organization: { id: string; slug: string; isOpen: boolean },
    /** The subject of each ID token. */
    readonly idTokens: Map<string, string>,
  ) {}

  belongs = ({ isMember }: Person) => isMember && this.organization.isOpen;
  /** When something ends that was given for a sign-in, as the person's organization has it now. */
  cut = ({ person, at }: Pick<Proved, 'person' | 'at'>, end: number) =>
    this.policy.sessionLife !== null && this.belongs(person) ? Math.min(end, at + this.policy.sessionLife) : end;
  consentKey = (person: Person, client: ModelClient) => `${person.id} ${client.clientId}`;
  covers(person: Person, client: ModelClient, scope: readonly string[]): boolean {
    const given = this.consents.get(this.consentKey(person, client));
    return given !== undefined && scope.every((name) => given.has(name));
  }

  /** Returns the browser's session, if it still signs in; `idle` counts, as does the look itself. */
  live(session: Session | null, at: number): Session | null {
    if (!session || session.isRevoked || !session.person.isActive || at >= this.cut(session, session.endsAt))
      return null;
    const lastUse = Math.max(session.usedAt, session.at);
    if (this.settings.idleLife !== null && at >= lastUse + this.settings.idleLife) return null;
    if (at - lastUse >= minutes(1)) session.usedAt = at;
    return session;
  }

  /** An authorization request. @param chosen the account with which somebody has just chosen to go on */
  open(sent: Sent, browser: ModelBrowser, at: number, chosen: Session | null = null): Outcome {
    const read = readRequest(sent, this);
    if (!('asked' in read) || 'error' in read) return read;
    const { asked } = read;
    const session = this.live(browser.session, at);
    const suits =
      session &&
      !says(asked, 'login') &&
      (asked.hint === null || asked.hint === session.person.id) &&
      (asked.maxAge === null || at < session.at + seconds(asked.maxAge));
    if (!suits) return says(asked, 'none') ? error(asked, 'login_required') : this.signInPage(asked);
    const { isProduction } = this;
    const isOwnProgram = isProduction && !asked.client.isThirdParty && anyProgram(asked);
    const asksWho = says(asked, 'select_account') || this.settings.confirms || isOwnProgram;
    if (asksWho && chosen !== session)
      return says(asked, 'none') ? error(asked, 'interaction_required') : { is: 'select-account', asked, session };
    const asksConsent = this.needsConsent(asked, session.person);
    if (asksConsent && says(asked, 'none')) return error(asked, 'consent_required');
    const proof = { ...session, session };
    const step = this.gate(asked, proof, browser);
    if (step === 'done') return asksConsent ? this.consentPage(asked, browser, at) : issue(asked, session, at);
    if (says(asked, 'none'))
      return error(asked, step === 'barred' || step === 'stranger' ? 'login_required' : 'interaction_required');
    return step === 'stranger' ? this.signInPage(asked) : waiting(step, asked, proof, at);
  }

  /** Somebody wants to be somebody else than the session's person. */
  another(sent: Sent, browser: ModelBrowser, at: number): Outcome {
    const read = readRequest(sent, this);
    if (!('asked' in read) || 'error' in read) return read;
    this.live(browser.session, at);
    return this.signInPage(read.asked);
  }

  /** A wrong code: the same page again. */
  failed(sent: Sent, page: Waiting, at: number): Outcome {
    const read = readRequest(sent, this);
    if (!('asked' in read) || 'error' in read) return read;
    return this.isOver(page, at) ? { is: 'error page' } : page;
  }
  /** Whether a sign-in has waited for too long, or the session that is to become stronger has ended. */
  private isOver = ({ proof, until }: Waiting, at: number) =>
    at >= until ||
    (proof.session !== null && (proof.session.isRevoked || at >= this.cut(proof.session, proof.session.endsAt)));

  /** The form of the sign-in page. */
  typed(
    sent: Sent,
    browser: ModelBrowser,
    { person, isRight }: { person: Person; isRight: boolean },
    at: number,
  ): Outcome {
    const read = readRequest(sent, this);
    if (!('asked' in read) || 'error' in read) return read;
    const page = this.signInPage(read.asked);
    if (page.is !== 'sign-in' || !isRight || !person.isActive) return page;
    return this.proved(read.asked, browser, { person, amr: ['pwd'], acr: aal1, at, second: null, session: null }, at);
  }

  /** The right code of an app. @param isTrusted whether the browser is to be trusted from now on */
  showed(
    sent: Sent,
    browser: ModelBrowser,
    { isTrusted, ...page }: Waiting & { isTrusted: boolean },
    at: number,
  ): Outcome {
    const read = readRequest(sent, this);
    if (!('asked' in read) || 'error' in read) return read;
    if (this.isOver(page, at)) return { is: 'error page' };
    const { proof } = page;
    if (isTrusted) browser.trusts.add(proof.person);
    const amr = [...new Set([...proof.amr, 'otp', 'mfa'])];
    return this.proved(read.asked, browser, { ...proof, amr, acr: aal2, second: at }, at);
  }

  postponed(sent: Sent, browser: ModelBrowser, page: Waiting, at: number): Outcome {
    const read = readRequest(sent, this);
    if (!('asked' in read) || 'error' in read) return read;
    if (this.isOver(page, at)) return { is: 'error page' };
    const { proof } = page;
    const isEnough = this.gate(read.asked, proof, browser) === 'enroll or later';
    return isEnough ? this.complete(read.asked, browser, proof, at) : this.proved(read.asked, browser, proof, at);
  }

  /** The form of the consent page, which carries the scope that it showed. */
  answered(
    sent: Sent,
    browser: ModelBrowser,
    { session: shown, allows }: { session: Session; allows: boolean },
    at: number,
  ): Outcome {
    const read = readRequest(sent, this);
    if (!('asked' in read) || 'error' in read) return read;
    const { asked } = read;
    const page = this.consentPage(asked, browser, at);
    if (page.is !== 'consent' || page.session !== shown) return page;
    if (!allows) return error(asked, 'access_denied');
    if (this.gate(asked, { ...shown, session: shown }, browser) !== 'done') return this.open(asked.sent, browser, at);
    const key = this.consentKey(shown.person, asked.client);
    this.consents.set(key, new Set([...(this.consents.get(key) ?? []), ...asked.scope]));
    return issue(asked, shown, at);
  }

  /** The page that asks who it is; the organization of the sign-in may leave no way for a password. */
  private signInPage(asked: Asked): Outcome {
    const { requiresSso, allowsPassword } = this.policy;
    if (asked.isForOrganization && requiresSso) return { is: 'barred', asked };
    return { is: asked.isForOrganization && !allowsPassword ? 'passkey' : 'sign-in', asked };
  }

  private needsConsent = (asked: Asked, person: Person) =>
    asked.client.isThirdParty &&
    (says(asked, 'consent') || anyProgram(asked) || !this.covers(person, asked.client, asked.scope));

  /** What a sign-in needs besides its first factor. */
  private gate(
    asked: Asked,
    proof: Proof,
    browser: ModelBrowser,
  ): 'done' | 'barred' | 'challenge' | 'enroll' | 'enroll or later' | 'stranger' {
    const { person, session } = proof;
    const policy = this.belongs(person)
      ? this.policy
      : { requiresMfa: false, requiresSso: false, allowsPassword: true };
    if (policy.requiresSso || !policy.allowsPassword) return 'barred';
    const { needsIt, isStrong } = this.level(asked, proof);
    const isTrusted = person.hasApp && browser.trusts.has(person) && !isStrong;
    if (needsIt && person.hasApp && !isTrusted) return 'challenge';
    if (asked.isForOrganization && !this.belongs(person)) return 'stranger';
    if (!needsIt || isTrusted) return 'done';
    const isRequired = policy.requiresMfa || this.settings.mfaPolicy === 'required';
    if (!(isStrong || isRequired)) return 'done';
    if (isStrong || !this.canPostpone) return 'enroll';
    return session ? 'done' : 'enroll or later';
  }

  /** Whether a second factor is needed that was not shown, and whether nothing less will do. */
  private level(asked: Asked, { person, acr, second }: Proof) {
    const prefers = asked.level === 'aal2 or aal1' && person.hasApp && !says(asked, 'none');
    const isStrong = asked.level === 'aal2' || prefers;
    const isOff = this.settings.mfaPolicy === 'off' && !(this.belongs(person) && this.policy.requiresMfa);
    return { isStrong, needsIt: isStrong ? acr !== aal2 : !isOff && second === null };
  }

  private proved(asked: Asked, browser: ModelBrowser, proof: Proof, at: number): Outcome {
    const step = this.gate(asked, proof, browser);
    const isTrusted = step === 'done' && proof.person.hasApp && this.level(asked, proof).needsIt;
    if (step === 'done') return this.complete(asked, browser, isTrusted ? { ...proof, second: at } : proof, at);
    if (step !== 'stranger') return waiting(step, asked, proof, at);
    if (!proof.session) return error(asked, 'access_denied');
    this.begin(browser, proof, at); // somebody else may sign in; what was asked of this person was done
    const rest = asked.sent.filter(([name]) => name !== 'max_age' && name !== 'prompt');
    return this.open(says(asked, 'consent') ? [...rest, ['prompt', 'consent']] : rest, browser, at);
  }

  private complete(asked: Asked, browser: ModelBrowser, proof: Proof, at: number): Outcome {
    const session = this.begin(browser, proof, at);
    if (asked.hint !== null && asked.hint !== session.person.id) return error(asked, 'login_required');
    return this.needsConsent(asked, session.person) ? this.consentPage(asked, browser, at) : issue(asked, session, at);
  }

  /** Shows the question in a session that suits; or the sign-in begins again. */
  private consentPage(asked: Asked, browser: ModelBrowser, at: number): Outcome {
    const session = this.live(browser.session, at);
    const suits =
      session &&
      !says(asked, 'none') &&
      (asked.hint === null || asked.hint === session.person.id) &&
      (!says(asked, 'login') || at < session.at + newFor) &&
      (asked.maxAge === null || at < session.at + Math.max(newFor, seconds(asked.maxAge)));
    return suits ? { is: 'consent', asked, session } : this.open(asked.sent, browser, at);
  }

  /** Begins a session; the same person's goes on, and another one's ends. */
  private begin(browser: ModelBrowser, { session: stronger, ...proved }: Proof, at: number): Session {
    const before =
      browser.session && !browser.session.isRevoked && at < browser.session.endsAt ? browser.session : null;
    const { person, amr, acr, second } = proved;
    const endsAt = this.cut(proved, at + this.settings.sessionLife);
    if (stronger)
      return Object.assign(stronger, { amr, acr, second, usedAt: at, endsAt: Math.min(stronger.endsAt, endsAt) });
    const news = { person, amr, acr, second, at: proved.at, endsAt, usedAt: at };
    if (before?.person === person) return Object.assign(before, news);
    if (before) before.isRevoked = true;
    browser.session = { ...news, isRevoked: false, sid: null };
    return browser.session;
  }
}

const error = (asked: Asked, code: string): Outcome => ({ is: 'error', asked, error: code });
const waiting = (is: Waiting['is'] | 'barred', asked: Asked, proof: Proof, at: number): Outcome =>
  is === 'barred' ? { is, asked } : { is, asked, proof, until: at + minutes(is === 'challenge' ? 10 : 30) };
const issue = (asked: Asked, session: Session, madeAt: number): Outcome => {
  const { person, amr, acr, at } = session;
  return { is: 'code', asked, code: { asked, session, person, amr, acr, at, madeAt, grant: null } };
};
