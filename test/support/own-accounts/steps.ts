import { decodeJwt } from 'jose';
import { minutes } from '../../../src/platform/clock.js';
import type { Decision } from './model.js';
import type { Seen } from './seen.js';
import type { Page, Pending, Proof, Request, Session, Visitor } from './state.js';
import { live, open, requestIn, sessionIdOf, type World } from './world.js';

/** Says what was seen, for the comparison with what the model says. */
export const said = ({ is, error }: Pick<Seen, 'is' | 'error'>): string => [is, error].filter(Boolean).join(' ');

export function keep({ model }: World, page: Page): void {
  model.pages.push(page);
}

/** Expects a code with which the client gets tokens that say what was proved. */
async function expectTokens(it: World, { fields, answer }: Seen, session: Session): Promise<void> {
  const payload = new URLSearchParams({
    ...{ grant_type: 'authorization_code', client_id: it.clientId, code: fields.code ?? '' },
    ...{ redirect_uri: 'https://app.example.com/callback', code_verifier: it.pkce.verifier },
  }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const token = await it.api.app.inject({ method: 'POST', url: '/oauth/token', headers, payload });
  expect({ status: token.statusCode, from: answer.statusCode }).toEqual({ status: 200, from: answer.statusCode });
  const claims = decodeJwt(token.json().id_token);
  session.id ||= String(claims.sid);
  expect({ ...claims, amr: [...(claims.amr as string[])].sort() }).toMatchObject({
    ...{ sub: session.person.id, sid: session.id, auth_time: Math.floor(session.at / 1000) },
    ...{ amr: [...session.amr].sort(), acr: session.isStrong ? 'urn:gatehouse:aal2' : 'urn:gatehouse:aal1' },
  });
}

/** Expects the end of an authorization request: at the client, or at a page of the account. */
async function expectArrival(it: World, of: Visitor, request: Request, seen: Seen, session: Session): Promise<void> {
  if (request.destination !== null) {
    expect(said(seen)).toBe(`/oauth/${request.destination}`);
    session.id ||= await sessionIdOf(it, of);
    return;
  }
  expect({ is: said(seen), ...seen.fields }).toMatchObject({
    is: 'client',
    state: 'here',
    iss: 'http://localhost:3000',
  });
  await expectTokens(it, seen, session);
}

interface Following {
  hasProved?: boolean;
  /** Whether a session that is there already continues as it is. */
  resumes?: boolean;
  /** Whether the person puts off an enrollment. */
  postpones?: boolean;
}

/** Expects what follows a proof: the client, another factor, an enrollment, or a refusal. */
export async function expectAfter(
  it: World,
  of: Visitor,
  { request, proof, seen }: { request: Request; proof: Proof; seen: Seen },
  { hasProved = false, resumes = false, postpones = false }: Following = {},
): Promise<void> {
  const { model } = it;
  const at = it.now();
  const isOwner = request.destination !== null && request.maxAge !== null;
  const isTrusted = (of.trusts.get(proof.person) ?? 0) > at;
  const decision = model.decide(proof, { isStrong: request.isStrong, isOwner }, { hasProved, isTrusted, at });
  const isDone = decision.step === 'done' || (postpones && decision.step === 'enroll' && decision.until !== null);
  if (!isDone) return expectPage(it, of, { request, proof, seen }, { decision, hasProved });
  const proved =
    decision.step === 'done' ? { ...proof, hasSecond: decision.hasSecond, isStrong: decision.isStrong } : proof;
  const session = resumes ? of.session : model.begin(of, proved, at);
  if (session === null) return void expect(said(seen)).toBe(expired(seen, 'mfa_expired'));
  await expectArrival(it, of, request, seen, session);
}

const lives = { challenge: minutes(10), enrollment: minutes(30) };

async function expectPage(
  it: World,
  of: Visitor,
  { request, proof, seen }: { request: Request; proof: Proof; seen: Seen },
  { decision, hasProved }: { decision: Decision; hasProved: boolean },
): Promise<void> {
  const { model } = it;
  const at = it.now();
  if (decision.step === 'refused') return void expect(seen.is).toMatch(/^403/);
  if (decision.step === 'done') throw new Error('the model expects no page');
  const purpose = decision.step === 'challenge' ? 'challenge' : 'enrollment';
  const pending: Pending = {
    ...{ purpose, proof, request, requiresStrong: request.isStrong, hasProved },
    ...{
      token: seen.fields[`${purpose}_token`] ?? '',
      begunAt: at,
      endsAt: at + lives[purpose],
      completedAt: null,
      codes: [],
    },
  };
  model.pendings.push(pending);
  if (decision.step === 'challenge') return expectChallenge(it, of, pending, seen, null);
  expect(said(seen)).toBe('enroll');
  expect({ factors: seen.factors, canWait: seen.canWait }).toEqual({
    factors: decision.factors,
    canWait: decision.until !== null,
  });
  keep(it, { is: 'enroll', of, pending });
}

/** Expects the page that asks for a second factor. @param chosen the factor that it asks for, if not the first one */
export function expectChallenge(
  it: World,
  of: Visitor,
  pending: Pending,
  seen: Seen,
  error: string | null,
  chosen?: string,
): void {
  const all: string[] = it.model.factorsOf(pending);
  expect(said(seen)).toBe(['challenge', error].filter(Boolean).join(' '));
  const isJson = 'available_factors' in seen.fields;
  const first = chosen !== undefined && all.includes(chosen) ? chosen : all[0];
  expect(seen.factors).toEqual(isJson ? all : all.filter((one) => one !== first));
  keep(it, { is: 'challenge', of, pending });
}

/** The page, or the answer in JSON, that says that a sign-in cannot go on. */
export function expired({ answer }: Seen, texts: 'mfa_expired' | 'sign_in_over' | 'code_used'): string {
  if (String(answer.headers['content-type']).includes('json')) return '400 expired';
  return `400 ${{ mfa_expired: 'This sign-in has expired', sign_in_over: 'This sign-in is over', code_used: 'This code has already been used' }[texts]}`;
}

/** Opens an authorization request. */
export async function visit(it: World, of: Visitor, request: Request): Promise<void> {
  await expectVisit(it, of, request, await open(it, of, `/oauth/authorize?${new URLSearchParams(request.params)}`));
}

/** Expects what an authorization request leads to, in a browser that may have a session. */
export async function expectVisit(it: World, of: Visitor, request: Request, seen: Seen): Promise<void> {
  const session = live(it, of);
  if (!session || !it.model.suits(session, request, it.now())) {
    expect(seen.is).toBe('sign-in');
    return keep(it, { is: 'sign-in', of, request });
  }
  const { person, began, amr, isStrong, at, hasSecond, hasOwn } = session;
  const proof = { person, began, amr, isStrong, at, hasSecond, hasOwn };
  await expectAfter(it, of, { request, proof: { ...proof, isSession: true }, seen }, { resumes: true });
}

/** Follows a redirect to the authorization endpoint. */
export async function follow(it: World, of: Visitor, { to, is }: Seen): Promise<void> {
  expect(is).toBe('/oauth/authorize');
  const request = requestIn(to as URL);
  await visit(it, of, request);
}

/** Whether the form of a sign-in that waits can go on; otherwise expects its answer. */
export async function expectOpen(
  it: World,
  of: Visitor,
  pending: Pending,
  seen: Seen,
  purpose = pending.purpose,
): Promise<boolean> {
  const { proof, endsAt, completedAt } = pending;
  const at = it.now();
  const { person } = proof;
  const session = live(it, of);
  const isPersons = !proof.isSession || session?.person === person;
  if (
    completedAt === null &&
    at < endsAt &&
    person.isActive &&
    person.isMember &&
    isPersons &&
    purpose === pending.purpose
  )
    return true;
  await expectOver(it, of, pending, seen);
  return false;
}

/** Expects the answer to a form whose sign-in is over. */
export async function expectOver(
  it: World,
  of: Visitor,
  { request, proof, endsAt, completedAt }: Pending,
  seen: Seen,
): Promise<void> {
  const at = it.now();
  const isKnown = completedAt !== null && at < endsAt;
  const session = live(it, of);
  const isScript = String(seen.answer.headers['content-type']).includes('json');
  if (isScript || !isKnown || session?.person !== proof.person)
    return void expect(said(seen)).toBe(expired(seen, isKnown ? 'sign_in_over' : 'mfa_expired'));
  expect(said(seen)).toBe('/oauth/authorize');
  await visit(it, of, session.at >= proof.at ? it.model.once(request) : request);
}
