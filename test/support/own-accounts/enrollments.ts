import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import { totpCode } from '../mfa.js';
import { mailCode, stepAt } from './challenges.js';
import { type Seen, seenIn } from './seen.js';
import { someDigits } from './sign-ins.js';
import type { Factor, Kind, Of, Page, Pending, Person, Proof } from './state.js';
import { expectAfter, expectOpen, expectOver, keep, said } from './steps.js';
import { expectMails, newKey, open as openPage, script, send, type World } from './world.js';

/** Chooses a factor to enroll, or puts that off. */
export async function choose(it: World, page: Of<'enroll'>): Promise<void> {
  const { random } = it;
  const { of, pending } = page;
  const what = random.of(['totp', 'totp', 'email_otp', 'webauthn', 'later']);
  it.tell(`  ${what}`);
  if (what === 'webauthn') return enrollKey(it, page);
  const fields = { ...pending.request.params, enrollment_token: pending.token };
  if (what === 'email_otp' && pending.codes.length > 0 && random.below(3) > 0) return typeCode(it, page);
  if (what === 'email_otp') return askForCode(it, page);
  const seen = await send(it, of, '/oauth/mfa/enroll', {
    ...fields,
    ...(what === 'later' ? { choice: what } : { factor: what }),
  });
  if (!(await expectOpen(it, of, pending, seen, 'enrollment'))) return;
  if (what === 'totp') {
    expect(said(seen)).toBe('enroll-app');
    const secret =
      seen.fields.secret ?? (/<dd class="code">([A-Z2-7 ]+)</.exec(seen.answer.body)?.[1] ?? '').replaceAll(' ', '');
    return keep(it, { is: 'enroll-app', of, pending, secret, sealed: seen.fields.totp_token as string, factor: null });
  }
  pending.completedAt = it.now();
  const { proof, request, hasProved } = pending;
  await expectAfter(it, of, { request, proof, seen }, { hasProved, postpones: true });
}

/** Whether the sign-in may add a factor: a person who has one has shown it. */
function mayAdd({ model }: World, { proof, requiresStrong, hasProved }: Pending): boolean {
  const { usable, provable } = model.choices(proof, requiresStrong);
  const isShown = proof.hasSecond && (proof.isStrong || (proof.amr.includes('otp') && proof.amr.length > 1));
  return hasProved || isShown || usable.length + provable.length === 0;
}

/** Whether a new key may sign in by itself. */
export function signsIn({ factors, setAt }: Person, began: Proof['began']): boolean {
  const keys = factors.filter(({ key }) => key);
  return began !== 'passkey' || (keys.every((one) => one.signsIn) && (setAt === 0 || keys.length > 0));
}

/** The person has another factor; the first one comes with recovery codes. */
export async function added(
  it: World,
  person: Person,
  factor: Omit<Factor, 'id' | 'label'>,
): Promise<{ made: Factor; hasCodes: boolean }> {
  const { model } = it;
  const hasCodes = person.factors.length === 0 && model.allowed.includes('recovery_code');
  const made = { ...factor, id: '', label: null };
  person.factors.push(made);
  model.graces.enrolled(person);
  await expectMails(it, `security-notice ${person.email}`);
  const [row] = await it.query<{ id: string }>(
    'select id from mfa_factors where identity_id = $1 order by enrolled_at desc, id desc limit 1',
    [person.id],
  );
  made.id = row?.id ?? '';
  return { made, hasCodes };
}

async function enrolled(
  it: World,
  of: Page['of'],
  pending: Pending,
  seen: Seen,
  given: Omit<Factor, 'id' | 'label'>,
  amr: string[],
): Promise<Factor> {
  const { model } = it;
  const { person } = pending.proof;
  const { made, hasCodes } = await added(it, person, given);
  pending.proof = { ...model.withSecond(pending.proof, made.kind, amr), hasSecond: true };
  pending.hasProved = true;
  if (!hasCodes) {
    await finish(it, of, pending, seen);
    return made;
  }
  await toCodes(it, of, pending, seen);
  return made;
}

async function toCodes(it: World, of: Page['of'], pending: Pending, seen: Seen): Promise<void> {
  expect(said(seen)).toBe('new codes /oauth/mfa-enroll-codes');
  const { person } = pending.proof;
  const sealed = seen.fields.codes_token as string;
  person.recoveryCodes = await codesAt(
    it,
    of,
    `/oauth/mfa-enroll-codes?${new URLSearchParams({ codes_token: sealed })}`,
  );
  keep(it, { is: 'codes', of, pending, sealed });
}

/** The codes that a page shows, the first time. */
export async function codesAt(it: World, of: Page['of'], url: string): Promise<string[]> {
  const shown = await openPage(it, of, url, true);
  const codes = shown.fields.recovery_codes as unknown as string[];
  expect(codes).toHaveLength(10);
  const again = seenIn(await of.browser.get(url, { accept: 'application/json' }));
  expect((again.fields.recovery_codes as unknown) ?? null).toBe(null);
  return codes;
}

/** Completes a sign-in in which a factor was enrolled. */
async function finish(it: World, of: Page['of'], pending: Pending, seen: Seen): Promise<void> {
  pending.completedAt = it.now();
  await expectAfter(it, of, { request: pending.request, proof: pending.proof, seen }, { hasProved: true });
}

export async function confirmCodes(it: World, { of, pending, sealed }: Of<'codes'>): Promise<void> {
  const fields = { ...pending.request.params, enrollment_token: pending.token, codes_token: sealed };
  const seen = await send(it, of, '/oauth/mfa-enroll-codes', fields);
  if (await expectOpen(it, of, pending, seen, 'enrollment')) await finish(it, of, pending, seen);
}

/** Types the first code of a new app. */
export async function typeFirstCode(it: World, page: Of<'enroll-app'>): Promise<void> {
  const { of, pending, secret, sealed } = page;
  const at = it.now();
  const isWrong = it.random.below(5) === 0;
  const code = isWrong ? '000000' : totpCode(secret, new Date(at));
  const fields = { ...pending.request.params, enrollment_token: pending.token, totp_token: sealed, code };
  const seen = await send(it, of, '/oauth/mfa/totp/enroll', fields);
  if (!(await expectOpen(it, of, pending, seen, 'enrollment'))) return;
  const { person } = pending.proof;
  if (isWrong) return void expect(said(seen)).toBe('enroll-app mfa_enroll_totp.error');
  const isThere = page.factor !== null && person.factors.includes(page.factor);
  if (!mayAdd(it, pending)) return expectOver(it, of, pending, seen);
  if (!kindsOf(it, pending).includes('totp')) return void expect(said(seen)).toBe('400 mfa.factor_not_allowed');
  if (isThere) return expectOver(it, of, pending, seen);
  const app = { secret, lastStep: stepAt(at) };
  page.factor = await enrolled(it, of, pending, seen, { kind: 'totp', app, key: null, signsIn: false }, ['otp']);
}

const kindsOf = ({ model }: World, { proof, requiresStrong }: Pending): Kind[] =>
  model.choices(proof, requiresStrong).enrollable;

async function askForCode(it: World, { of, pending }: Of<'enroll'>): Promise<void> {
  const seen = await send(it, of, '/oauth/mfa/email-otp/enroll/send', {
    ...pending.request.params,
    enrollment_token: pending.token,
  });
  if (!(await expectOpen(it, of, pending, seen, 'enrollment'))) return;
  const mailed = await mailCode(it, pending, 'factor-code');
  if (mailed === 'over') return void expect(seen.is).toMatch(/^400/);
  expect(said(seen)).toBe(mailed === 'sent' ? 'enroll-mail' : 'enroll-mail mfa_challenge.error.send_too_often');
}

async function typeCode(it: World, { of, pending }: Of<'enroll'>): Promise<void> {
  const { model } = it;
  const { person } = pending.proof;
  const code = someDigits(it, pending.codes);
  const fields = { ...pending.request.params, enrollment_token: pending.token, code };
  const seen = await send(it, of, '/oauth/mfa/email-otp/enroll/verify', fields);
  if (!(await expectOpen(it, of, pending, seen, 'enrollment'))) return;
  const refused = model.try('factor', person.id);
  if (refused) return void expect(said(seen)).toBe('429 mfa.challenge_locked');
  const entered = model.enter(pending.codes, code, it.now());
  if (entered === 'wrong' || entered === 'void')
    return void expect(said(seen)).toBe('enroll-mail mfa_challenge.error.email_otp');
  model.takenBack('factor', person.id);
  if (entered === 'spent' || !mayAdd(it, pending)) return expectOver(it, of, pending, seen);
  if (!kindsOf(it, pending).includes('email_otp')) return void expect(said(seen)).toBe('400 mfa.factor_not_allowed');
  if (model.has(person, 'email_otp')) return expectOver(it, of, pending, seen);
  await enrolled(it, of, pending, seen, { kind: 'email_otp', app: null, key: null, signsIn: false }, ['otp']);
}

async function enrollKey(it: World, { of, pending }: Of<'enroll'>): Promise<void> {
  const { model } = it;
  const { proof, request, token, endsAt, completedAt } = pending;
  const { person } = proof;
  const begun = await script(of, '/oauth/mfa/webauthn/enroll/options', { ...request.params, enrollment_token: token });
  const session = model.liveSession(of, it.now());
  const isOpen =
    completedAt === null &&
    it.now() < endsAt &&
    person.isActive &&
    person.isMember &&
    (!proof.isSession || session?.person === person);
  if (!isOpen) return void expect(said(begun)).toBe('400 expired');
  if (!model.allowed.includes('webauthn')) return void expect(said(begun)).toBe('400 mfa.factor_not_allowed');
  const { options, enrollment_token } = begun.fields as unknown as {
    options: PublicKeyCredentialCreationOptionsJSON;
    enrollment_token: string;
  };
  const key = newKey(it);
  const credential = key.authenticator.create(options);
  const seen = await script(of, '/oauth/mfa/webauthn/enroll/verify', {
    ...request.params,
    enrollment_token,
    credential,
  });
  if (!mayAdd(it, pending)) return void expect(said(seen)).toBe('400 expired');
  if (!kindsOf(it, pending).includes('webauthn')) return void expect(said(seen)).toBe('400 mfa.factor_not_allowed');
  const given = { kind: 'webauthn' as const, app: null, key, signsIn: signsIn(person, proof.began) };
  person.keys.push(key);
  await enrolled(it, of, pending, seen, given, [key.isSynced ? 'swk' : 'hwk', 'user']);
}
