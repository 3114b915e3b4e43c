import { outcomeOf } from '../answers.js';
import { newResetLink } from './links.js';
import { anyone } from './sign-ins.js';
import type { Answer } from './state.js';
import { changeSettings, expectMails, newPerson, passwordOf, type World } from './world.js';

/** What administrators, and applications by their keys, do meanwhile. */
export async function changePolicy(it: World): Promise<void> {
  const { model, random } = it;
  model.mfaPolicy = random.of(['off', 'optional', 'optional', 'required', 'required'] as const);
  model.graceDays = random.of([0, 3, 7, 7]);
  model.allowed = random.of<Answer[]>([
    ['totp', 'webauthn', 'email_otp', 'recovery_code'],
    ['totp', 'webauthn', 'email_otp', 'recovery_code'],
    ['totp', 'recovery_code'],
    ['totp', 'webauthn'],
    ['email_otp', 'totp'],
    ['webauthn', 'recovery_code'],
  ]);
  model.trustedDays = random.of([30, 30, 1, 0]);
  model.mailsCodes = random.below(6) > 0;
  model.changesEmail = random.below(6) > 0;
  it.tell(`  ${model.mfaPolicy} ${model.graceDays} ${model.allowed} ${model.trustedDays}`);
  await changeSettings(it, {});
  for (const person of model.people)
    model.graces.policyChanged(person, {
      isRequired: model.requires(person),
      hasFactor: person.factors.length > 0,
      days: model.graceDays,
      at: it.now() - 1000,
    });
}

export async function changeOrganization(it: World): Promise<void> {
  const { model, random, key, organization } = it;
  const person = anyone(it);
  if (random.below(2) === 0) {
    model.organizationRequires = !model.organizationRequires;
    const path = `/organizations/${organization}/authentication-policy`;
    const { version } = (await key('GET', path)).json().data;
    const policy = {
      allowed_methods: null,
      require_sso: false,
      require_mfa: model.organizationRequires,
      session_ttl_seconds: null,
    };
    return void expect(outcomeOf(await key('PUT', path, policy, version))).toBe('200');
  }
  if (!person.isMember) return;
  const path = `/organizations/${organization}/members`;
  const isIn = model.members.has(person);
  const answer = isIn
    ? await key('DELETE', `${path}/${person.id}`)
    : await key('POST', path, { identity_id: person.id });
  expect(outcomeOf(answer)).toBe(isIn ? '204' : '201');
  if (isIn) model.members.delete(person);
  else model.members.add(person);
}

export async function keepOut(it: World): Promise<void> {
  const { model, key } = it;
  const person = model.people.find(({ isActive, isMember }) => !isActive && isMember) ?? anyone(it);
  if (!person.isMember) return;
  person.isActive = !person.isActive;
  const answer = await key('POST', `/identities/${person.id}/${person.isActive ? 'activate' : 'deactivate'}`);
  expect(outcomeOf(answer)).toBe('200');
  if (person.isActive) return;
  model.endSessions(person, { alsoSteps: true }, it.now());
  model.distrust(person);
}

export async function helps(it: World): Promise<void> {
  const { model, random, key } = it;
  const person = anyone(it);
  if (!person.isMember) return;
  const path = `/identities/${person.id}`;
  const at = it.now();
  const what = random.of(['unlock', 'mfa', 'password', 'reset', 'sessions', 'address', 'verify']);
  it.tell(`  ${what} ${model.people.indexOf(person)}`);
  if (what === 'unlock') {
    expect(outcomeOf(await key('POST', `${path}/unlock`))).toBe('200');
    for (const own of ['factor', 'own-password', 'own-email']) model.tries.delete(`${own} ${person.id}`);
    return void model.tries.delete(`sign-in ${person.email.toLowerCase()}`);
  }
  if (what === 'mfa') {
    expect(outcomeOf(await key('POST', `${path}/mfa/reset`))).toBe('200');
    Object.assign(person, { factors: [], recoveryCodes: [] });
    model.distrust(person);
    for (const one of model.pendings) if (one.proof.person === person) one.completedAt ??= at;
    model.tries.delete(`factor ${person.id}`);
    model.graces.reset(person, model.mfaPolicy === 'required', model.graceDays, at);
    return void (await expectMails(it, `security-notice ${person.email}`));
  }
  if (what === 'password') {
    const password = passwordOf(it);
    expect(outcomeOf(await key('PUT', `${path}/password`, { password }))).toBe('200');
    model.newPassword(person, password, null, at);
    return void (await expectMails(it, `identity-password-changed ${person.email}`));
  }
  if (what === 'reset') {
    expect(outcomeOf(await key('POST', `${path}/password/reset`, {}))).toMatch(/^20/);
    model.newPassword(person, null, null, at);
    if (!person.isActive) return;
    const mail = await expectMails(it, `identity-password-reset ${person.email}`);
    return newResetLink(it, person, mail?.values.link);
  }
  if (what === 'sessions') {
    expect(outcomeOf(await key('DELETE', `${path}/sessions`))).toMatch(/^20/);
    return model.endSessions(person, {}, at);
  }
  if (what === 'verify') {
    expect(outcomeOf(await key('POST', `${path}/email/verify`))).toBe('200');
    person.isVerified = true;
    return;
  }
  const email = `m${++it.count}-${it.account.accountSlug}@example.com`;
  const email_verified = random.below(3) > 0;
  expect(outcomeOf(await key('PATCH', path, { email, email_verified }))).toBe('200');
  model.moved(person, email, at);
  person.isVerified = email_verified;
}

/** A person leaves the Environment, which is their only one, and another one comes. */
export async function replace(it: World): Promise<void> {
  const { model, key, random } = it;
  const person = anyone(it);
  if (!person.isMember || model.people.filter(({ isMember }) => isMember).length < 3) return;
  expect(outcomeOf(await key('DELETE', `/identities/${person.id}`))).toBe('204');
  Object.assign(person, { isMember: false, isGone: true, factors: [] });
  model.members.delete(person);
  model.endSessions(person, { alsoSteps: true }, it.now());
  model.distrust(person);
  await newPerson(it, random.below(3) > 0);
}
