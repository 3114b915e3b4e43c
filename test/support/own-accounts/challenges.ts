import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { days, minutes } from '../../../src/platform/clock.js';
import { totpCode } from '../mfa.js';
import type { Seen } from './seen.js';
import { someDigits } from './sign-ins.js';
import type { Answer, Factor, MailedCode, Of, Page, Pending, Person } from './state.js';
import { expectAfter, expectChallenge, expectOpen, said } from './steps.js';
import { digitsIn, expectMails, script, send, type World } from './world.js';

type Challenge = Of<'challenge'>;

export const stepAt = (at: number): number => Math.floor(at / 30_000);
const codeAt = (secret: string, step: number) => totpCode(secret, new Date(step * 30_000));

/** Draws what an app shows: now, a step before or after, or too early; or the code of an app that was removed. */
function appCode(it: World, { factors }: Person): { code: string; step: (factor: Factor) => number | null } {
  const { random } = it;
  const now = stepAt(it.now());
  const app = random.of(factors.filter((one) => one.app))?.app;
  const step = now + random.of([0, 0, 0, 0, 1, -1, 3]);
  const code = app ? codeAt(app.secret, step) : '000000';
  return {
    code,
    step: (factor) =>
      [-1, 0, 1].map((drift) => now + drift).find((one) => factor.app && codeAt(factor.app.secret, one) === code) ??
      null,
  };
}

/** Sends an answer of some kind to the challenge. */
export async function answer(it: World, page: Challenge): Promise<void> {
  const { random, model } = it;
  const { pending } = page;
  const offered = model.factorsOf(pending);
  const kind = random.of<Answer>([...offered, ...offered, ...offered, 'totp', 'recovery_code', 'email_otp']);
  it.tell(`  ${kind}, of ${offered.join(' ')}`);
  if (kind === 'email_otp')
    return random.below(3) === 0 || pending.codes.length === 0 ? askForCode(it, page) : typeCode(it, page);
  if (kind === 'webauthn') return useKey(it, page);
  return kind === 'totp' ? typeApp(it, page) : typeRecovery(it, page);
}

/** Somebody may tick that the browser is to be trusted. */
const remembering = ({ random }: World): Record<string, string> =>
  random.below(3) === 0 ? { remember_device: 'true' } : {};

export async function typeApp(
  it: World,
  { of, pending }: Challenge,
  remember: Record<string, string> = remembering(it),
): Promise<void> {
  const { person } = pending.proof;
  const { code, step } = appCode(it, person);
  const fields = { ...pending.request.params, challenge_token: pending.token, code, ...remember };
  const seen = await send(it, of, '/oauth/mfa-challenge', fields);
  if (!(await expectOpen(it, of, pending, seen, 'challenge'))) return;
  await expectAnswer(it, of, pending, seen, {
    kind: 'totp',
    check: () => it.model.enterApp(person, step),
    amr: ['otp'],
    remember,
  });
}

async function typeRecovery(it: World, { of, pending }: Challenge): Promise<void> {
  const { person } = pending.proof;
  const code = it.random.below(4) === 0 ? 'ABCD-EFGH-JKLM-NPQR' : (person.recoveryCodes[0] ?? 'ABCD-EFGH-JKLM-NPQR');
  const remember = remembering(it);
  const fields = { ...pending.request.params, challenge_token: pending.token, recovery_code: code, ...remember };
  const seen = await send(it, of, '/oauth/mfa-challenge', fields);
  if (!(await expectOpen(it, of, pending, seen, 'challenge'))) return;
  const check = () => {
    const place = person.recoveryCodes.indexOf(code);
    if (place >= 0) person.recoveryCodes.splice(place, 1);
    return place >= 0;
  };
  await expectAnswer(it, of, pending, seen, { kind: 'recovery_code', check, amr: [], remember });
}

async function askForCode(it: World, { of, pending }: Challenge): Promise<void> {
  const { model } = it;
  const { person } = pending.proof;
  const fields = { ...pending.request.params, challenge_token: pending.token };
  const seen = await send(it, of, '/oauth/mfa/email-otp/send', fields);
  if (!(await expectOpen(it, of, pending, seen, 'challenge'))) return;
  const offered = model.factorsOf(pending).includes('email_otp');
  if (!offered) return expectChallenge(it, of, pending, seen, 'mfa_challenge.error.send_unavailable', 'email_otp');
  const mailed = await mailCode(it, pending, 'second-step-code');
  if (mailed === 'over') return void expect(seen.is).toMatch(/^400/);
  if (mailed === 'too often')
    return expectChallenge(it, of, pending, seen, 'mfa_challenge.error.send_too_often', 'email_otp');
  const isJson = 'challenge_token' in seen.fields && 'code_sent' in seen.fields;
  if (isJson) return void expect(seen.fields).toMatchObject({ code_sent: true });
  expectChallenge(it, of, pending, seen, null, 'email_otp');
  expect(person.isVerified).toBe(true);
}

/** A code is mailed for a sign-in that waits, which then waits for as long as the code works. */
export async function mailCode(
  it: World,
  pending: Pending,
  template: 'second-step-code' | 'factor-code',
): Promise<'sent' | 'over' | 'too often'> {
  const { model } = it;
  const at = it.now();
  const { person } = pending.proof;
  if (at >= pending.begunAt + minutes(30)) return 'over';
  pending.endsAt = Math.max(pending.endsAt, at + minutes(10));
  if (!model.mayMail('factor', person.id, 10)) return 'too often';
  const mail = await expectMails(it, `${template} ${person.email}`);
  const code: MailedCode = {
    digits: digitsIn(mail),
    person,
    email: person.email,
    madeAt: at,
    tries: 0,
    usedAt: null,
    isVoid: false,
  };
  model.codes.push(code);
  pending.codes.push(code);
  return 'sent';
}

async function typeCode(it: World, { of, pending }: Challenge): Promise<void> {
  const code = someDigits(it, pending.codes);
  const remember = remembering(it);
  const fields = { ...pending.request.params, challenge_token: pending.token, code, ...remember };
  const seen = await send(it, of, '/oauth/mfa/email-otp/verify', fields);
  if (!(await expectOpen(it, of, pending, seen, 'challenge'))) return;
  const check = () => it.model.enter(pending.codes, code, it.now()) === 'right';
  await expectAnswer(it, of, pending, seen, { kind: 'email_otp', check, amr: ['otp'], remember });
}

async function useKey(it: World, { of, pending }: Challenge): Promise<void> {
  const { model, random } = it;
  const { person, began } = pending.proof;
  const fields = { ...pending.request.params, challenge_token: pending.token };
  const begun = await script(of, '/oauth/mfa/webauthn/options', fields);
  if (!(await expectOpen(it, of, pending, begun, 'challenge'))) return;
  if (!model.factorsOf(pending).includes('webauthn'))
    return void expect(said(begun)).toBe('400 mfa.factor_not_allowed');
  const factor = random.of(person.factors.filter(({ key }) => key)) as Factor;
  const { authenticator, isSynced } = factor.key as NonNullable<Factor['key']>;
  const isBad = random.below(5) === 0;
  const options = begun.fields as unknown as PublicKeyCredentialRequestOptionsJSON;
  const credential = authenticator.get(options, isBad ? { tampered: true } : {});
  const remember = remembering(it);
  const seen = await script(of, '/oauth/mfa/webauthn/verify', { ...fields, ...remember, credential });
  const check = () => {
    // Not after a key, which must not pass on more than it has.
    if (!isBad && began !== 'passkey') factor.signsIn = true;
    return !isBad;
  };
  const amr = [isSynced ? 'swk' : 'hwk', 'user'];
  await expectAnswer(it, of, pending, seen, { kind: 'webauthn', check, amr, remember });
}

interface Given {
  kind: Answer;
  /** Checks the answer, and uses it up. */
  check(): boolean;
  amr: string[];
  remember: Record<string, string>;
}

/** Expects what follows an answer to the challenge. */
async function expectAnswer(
  it: World,
  of: Page['of'],
  pending: Pending,
  seen: Seen,
  { kind, check, amr, remember }: Given,
): Promise<void> {
  const { model } = it;
  const at = it.now();
  const { proof, request } = pending;
  const { person } = proof;
  const refused = model.try('factor', person.id);
  if (refused) return void expect(said(seen)).toBe('429 mfa.challenge_locked');
  const isRight = model.factorsOf(pending).includes(kind) && check();
  it.tell(`  ${isRight ? 'right' : 'wrong'}`);
  if (!isRight && kind === 'webauthn') return void expect(said(seen)).toBe('400 mfa.code_invalid');
  if (!isRight) return expectChallenge(it, of, pending, seen, `mfa_challenge.error.${kind}`, kind);
  // A mailed code does not clear the wrong tries at stronger factors.
  if (kind === 'email_otp') model.takenBack('factor', person.id);
  else model.right('factor', person.id);
  pending.completedAt = at;
  const proved = model.withSecond(proof, kind, amr);
  const isEnough = proved.hasSecond && (!pending.requiresStrong || proved.isStrong);
  if (isEnough && remember.remember_device && model.trustedDays > 0)
    of.trusts.set(person, at + days(model.trustedDays));
  if (kind === 'recovery_code') await expectMails(it, `security-notice ${person.email}`);
  await expectAfter(it, of, { request, proof: proved, seen }, { hasProved: true });
}
