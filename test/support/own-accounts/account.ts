import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import { totpCode } from '../mfa.js';
import { stepAt } from './challenges.js';
import { added, signsIn } from './enrollments.js';
import { act, entered, expectDone, expectRefused, type Form, newForm, proven, statusOf } from './forms.js';
import { twice } from './model.js';
import type { Seen } from './seen.js';
import { someDigits } from './sign-ins.js';
import type { Factor, Kind, MailedCode, Session, Visitor } from './state.js';
import { said } from './steps.js';
import { digitsIn, expectMails, isJson, live, newKey, open, passwordOf, script, type World } from './world.js';

export async function changePassword(it: World): Promise<void> {
  const { random, model } = it;
  const form = newForm(it, 'password');
  const before = form.of.session?.person;
  const isWrong = random.below(4) === 0;
  const fresh = passwordOf(it);
  const wanted = random.of([fresh, fresh, fresh, before?.password ?? fresh, 'password1', 'short']);
  const current = isWrong ? 'not the right one' : (before?.password ?? '');
  const seen = await act(it, form, { current_password: current, new_password: wanted });
  const session = await entered(it, form, seen);
  if (!session || !(await proven(it, form, seen, session, 'password'))) return;
  const { person } = session;
  if (person.password !== null) {
    const refused = model.try('own-password', person.id);
    if (refused) return expectRefused(seen, 429, 'rate_limit.exceeded');
    const isRight = current === person.password;
    const isSame = wanted === person.password && it.now() - person.setAt < twice;
    if (!isRight && !isSame) return expectRefused(seen, 400, 'password.wrong', 'account.password.error.wrong');
    model.right('own-password', person.id);
    if (!isRight) return void expectDone(seen, 'password_changed');
  }
  if (wanted === 'password1') return expectRefused(seen, 400, 'password.breached');
  if (wanted === 'short') return expectRefused(seen, 400, 'password.too_short');
  expectDone(seen, 'password_changed');
  model.newPassword(person, wanted, session, it.now());
  await expectMails(it, `identity-password-changed ${person.email}`);
}

/** Whether a factor of a kind may be added; otherwise expects the refusal. */
async function mayAdd(it: World, form: Form, kind: Kind, seen: Seen): Promise<Session | null> {
  const session = await entered(it, form, seen);
  if (!session) return null;
  if (!it.model.allowed.includes(kind) || (kind === 'email_otp' && session.began === 'email_otp')) {
    expect(statusOf(seen)).toBe(400);
    expect(seen.is).toContain('mfa.factor_not_allowed');
    return null;
  }
  return (await proven(it, form, seen, session, 'factors')) ? session : null;
}

/** The session is stronger by the factor that was added in it. */
async function gained(
  it: World,
  { of }: Form,
  seen: Seen,
  session: Session,
  given: Omit<Factor, 'id' | 'label'>,
  amr: string[],
): Promise<void> {
  const { person } = session;
  const { made, hasCodes } = await added(it, person, given);
  const { isStrong, amr: all } = it.model.withSecond({ ...session, isSession: true }, made.kind, amr);
  Object.assign(session, { isStrong, amr: all, hasSecond: true, hasOwn: true });
  const label = await it.query<{ label: string }>('select label from mfa_factors where id = $1', [made.id]);
  expect(label).toHaveLength(1);
  if (!hasCodes) return void expectDone(seen, 'factor_added');
  expect(said(seen)).toBe('new codes /oauth/account/recovery-codes');
  person.recoveryCodes = await ownCodes(it, of, seen);
}

async function ownCodes(it: World, of: Visitor, seen: Seen): Promise<string[]> {
  const to = seen.to as URL;
  const shown = await open(it, of, to.pathname + to.search, true);
  const codes = shown.fields.recovery_codes as unknown as string[];
  expect(codes).toHaveLength(10);
  expect(said(await open(it, of, to.pathname + to.search))).toBe('done codes_shown');
  return codes;
}

export async function addApp(it: World, form = newForm(it, 'factors/totp')): Promise<void> {
  const begun = await open(it, form.of, `/oauth/account/factors/totp?client_id=${it.clientId}`, true);
  const { secret, enrollment } = begun.fields;
  if (!secret || !enrollment) return; // the form would be refused as well
  const at = it.now();
  const isWrong = it.random.below(5) === 0;
  const seen = await act(it, form, { enrollment, code: isWrong ? '000000' : totpCode(secret, new Date(at)) });
  const session = await mayAdd(it, form, 'totp', seen);
  if (!session) return;
  if (isWrong) return expectRefused(seen, isJson(seen) ? 401 : 400, 'mfa.code_invalid', 'account.factor.error.code');
  await gained(
    it,
    form,
    seen,
    session,
    { kind: 'totp', app: { secret, lastStep: stepAt(at) }, key: null, signsIn: false },
    ['otp'],
  );
}

export async function addKey(it: World, form = newForm(it, 'factors/webauthn')): Promise<void> {
  const { of, shownTo } = form;
  const common = { client_id: it.clientId, session: shownTo };
  const begun = await script(of, '/oauth/account/factors/webauthn/options', common);
  const { options, enrollment } = begun.fields as unknown as {
    options: PublicKeyCredentialCreationOptionsJSON;
    enrollment: string;
  };
  if (!options) return void (await mayAdd(it, form, 'webauthn', begun));
  const key = newKey(it);
  const credential = key.authenticator.create(options);
  const seen = await script(of, '/oauth/account/factors/webauthn', { ...common, enrollment, credential });
  const session = await mayAdd(it, form, 'webauthn', seen);
  if (!session) return;
  const { person, began } = session;
  const given = { kind: 'webauthn' as const, app: null, key, signsIn: signsIn(person, began) };
  person.keys.push(key);
  await gained(it, form, seen, session, given, [key.isSynced ? 'swk' : 'hwk', 'user']);
}

export async function addMailbox(it: World): Promise<void> {
  const { model, random } = it;
  const form = newForm(it, 'factors/email-otp');
  const sent = form.of.session?.factorCodes ?? [];
  const code = sent.length > 0 && random.below(3) > 0 ? someDigits(it, sent) : null;
  const seen = await act(it, form, code === null ? {} : { code });
  const session = await mayAdd(it, form, 'email_otp', seen);
  if (!session) return;
  const { person, factorCodes } = session;
  const isThere = model.has(person, 'email_otp');
  if (code === null) {
    if (isThere && !isJson(seen)) return void expectDone(seen, 'already_added');
    if (!model.mayMail('factor', person.id, 10)) return expectRefused(seen, 429, 'rate_limit.exceeded');
    expect(statusOf(seen)).toBe(200);
    return void factorCodes.push(await codeMailed(it, session, `factor-code ${person.email}`));
  }
  const refused = model.try('factor', person.id);
  if (refused) return expectRefused(seen, 429, 'mfa.challenge_locked');
  const entered = model.enter(factorCodes, code, it.now());
  if (entered === 'wrong' || entered === 'void')
    return expectRefused(seen, isJson(seen) ? 401 : 400, 'mfa.code_invalid', 'account.factor.error.code');
  model.takenBack('factor', person.id);
  if (entered === 'spent' || isThere)
    return void expect(said(seen)).toMatch(
      isJson(seen) ? /^409 mfa.already_enrolled/ : /^(done (already_added|factor_added)|new codes)/,
    );
  await gained(it, form, seen, session, { kind: 'email_otp', app: null, key: null, signsIn: false }, ['otp']);
}

export async function codeMailed(it: World, { person }: Session, ...mails: string[]): Promise<MailedCode> {
  const mail = await expectMails(it, ...mails);
  const code = {
    digits: digitsIn(mail) || null,
    person,
    email: '',
    madeAt: it.now(),
    tries: 0,
    usedAt: null,
    isVoid: false,
  };
  it.model.codes.push(code);
  return code;
}

export async function removeFactor(it: World): Promise<void> {
  const { model, random } = it;
  const of = random.of([...model.visitors, ...model.visitors.filter((one) => live(it, one))]);
  const factor =
    random.of(of.session?.person.factors ?? []) ?? random.of(model.people.flatMap(({ factors }) => factors));
  if (!factor) return;
  const form = { ...newForm(it, `factors/${factor.id}`), of, shownTo: of.session?.id ?? 'none' };
  const seen = await act(it, form, {});
  const session = await entered(it, form, seen);
  if (!session) return;
  const { person } = session;
  if (!person.factors.includes(factor))
    return void expect(said(seen)).toBe(isJson(seen) ? '404 mfa.factor_not_found' : 'done gone');
  if (!(await proven(it, form, seen, session, 'factors'))) return;
  const left = person.factors.filter((one) => one !== factor);
  const isLast = model.allowed.includes(factor.kind) && !left.some(({ kind }) => model.allowed.includes(kind));
  if (isLast && model.requires(person)) return expectRefused(seen, 409, 'mfa.last_factor');
  expectDone(seen, 'factor_removed');
  person.factors = left;
  if (factor.key && !factor.signsIn && session.began === 'passkey') for (const one of left) one.signsIn = false;
  if (left.length === 0) {
    person.recoveryCodes = [];
    model.graces.removedLast(person, model.requires(person));
  }
  model.distrust(person);
  await expectMails(it, `security-notice ${person.email}`);
}

export async function nameFactor(it: World): Promise<void> {
  const form = newForm(it, '');
  const factor = it.random.of(form.of.session?.person.factors ?? []);
  if (!factor) return;
  const named = { ...form, page: `factors/${factor.id}/name` };
  const label = `Name ${++it.count}`;
  const seen = await act(it, named, { label });
  const session = await entered(it, named, seen);
  if (!session) return;
  const isThere = session.person.factors.includes(factor);
  if (!isThere) return void expect(said(seen)).toBe(isJson(seen) ? '404 mfa.factor_not_found' : 'done gone');
  factor.label = label;
  expectDone(seen, 'factor_renamed');
}

export async function renewCodes(it: World): Promise<void> {
  const { model } = it;
  const form = newForm(it, 'recovery-codes');
  const seen = await act(it, form, {});
  const session = await entered(it, form, seen);
  if (!session) return;
  const { person } = session;
  if (!model.allowed.includes('recovery_code')) return void expect(seen.is).toBe('400 mfa.factor_not_allowed');
  if (person.factors.length === 0) return void expect(seen.is).toBe('409 mfa.not_enrolled');
  if (!(await proven(it, form, seen, session, 'factors'))) return;
  expect(said(seen)).toBe('new codes /oauth/account/recovery-codes');
  person.recoveryCodes = await ownCodes(it, form.of, seen);
  await expectMails(it, `security-notice ${person.email}`);
}

/** Ends the person's other sessions, or the trust in all browsers. */
export async function shutOthers(it: World): Promise<void> {
  const { model, random } = it;
  const isTrust = random.below(2) === 0;
  const form = newForm(it, isTrust ? 'devices' : 'sessions');
  const seen = await act(it, form, isTrust ? { forget: 'all' } : { end: 'others' });
  const session = await entered(it, form, seen, 'account');
  if (!session) return;
  expectDone(seen, isTrust ? 'devices_forgotten' : 'sessions_ended');
  if (isTrust) model.distrust(session.person);
  else model.endSessions(session.person, { keep: session }, it.now());
}
