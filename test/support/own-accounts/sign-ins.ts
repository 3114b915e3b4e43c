import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import type { MailedCode, Of, Person, Proof } from './state.js';
import { expectAfter, expired, follow, keep, said, visit } from './steps.js';
import { digitsIn, expectMails, isJson, live, newRequest, script, send, type World } from './world.js';

export const first = (it: World, person: Person, began: Proof['began'], amr: string[]): Proof => ({
  ...{ person, began, amr, isSession: false, at: it.now() },
  ...{ isStrong: began === 'passkey', hasSecond: began === 'passkey', hasOwn: began === 'passkey' },
});

export const anyone = ({ random, model }: World): Person => random.of(model.people.filter(({ isMember }) => isMember));

/** Somebody's address, or one that nobody has. */
const someAddress = (it: World): string =>
  it.random.below(8) === 0
    ? `nobody-${it.random.below(3)}@example.com`
    : spelled(it, it.random.below(12) === 0 ? it.random.of(it.model.people).email : anyone(it).email);
const spelled = ({ random }: World, email: string) => (random.below(5) === 0 ? email.toUpperCase() : email);

/** Opens the sign-in, or goes on with a session. */
export async function arrive(it: World): Promise<void> {
  const { random, model } = it;
  const prompt = random.below(3) === 0 ? 'login' : null;
  await visit(it, random.of(model.visitors), newRequest(it, { prompt, isStrong: random.below(4) === 0 }));
}

/** Sends the form with a password. */
export async function typePassword(
  it: World,
  { of, request }: Of<'sign-in'>,
  isWrong = it.random.below(6) === 0,
  email = someAddress(it),
): Promise<void> {
  const { model } = it;
  const person = model.byAddress(email);
  const password = isWrong ? 'not the right one' : (person?.password ?? person?.parked ?? 'none at all');
  it.tell(`  ${email} ${isWrong ? 'wrong' : 'right'}`);
  const refused = model.try('sign-in', email);
  const seen = await send(it, of, '/oauth/authorize', { ...request.params, email, password });
  if (refused) return void expect(said(seen)).toBe('429 rate_limit.exceeded');
  const isRight = person?.isActive && password === (person.password ?? person.parked);
  if (!isRight) return void expect(said(seen)).toBe('sign-in sign_in.error.credentials');
  // Anybody may have signed up with the address: that password proves nothing.
  if (person.password === null) model.takenBack('sign-in', email);
  else model.right('sign-in', email);
  if (!person.isVerified) return void expect(said(seen)).toBe('sign-in sign_in.error.unverified');
  await expectAfter(it, of, { request, proof: first(it, person, 'password', ['pwd']), seen });
}

/** Guesses until nobody can any more. */
export async function attack(it: World): Promise<void> {
  const { model, random } = it;
  const { email } = anyone(it);
  const { params } = newRequest(it);
  for (;;) {
    const refused = model.try('sign-in', email);
    const seen = await send(it, random.of(model.visitors), '/oauth/authorize', {
      ...params,
      email,
      password: 'guessed it',
    });
    expect(said(seen)).toBe(refused ? '429 rate_limit.exceeded' : 'sign-in sign_in.error.credentials');
    if (refused) return;
  }
}

/** Asks for a code, with the form of the sign-in page, or with that of the page that asks for the code. */
export async function askForCode(it: World, { of, request, ...page }: Of<'sign-in'> | Of<'code-sent'>): Promise<void> {
  const { model } = it;
  const email = page.is === 'code-sent' ? page.email : someAddress(it);
  const token = page.is === 'code-sent' ? { login_token: page.token } : null;
  const seen = await send(it, of, '/oauth/login/email-otp/start', {
    ...request.params,
    method: 'code',
    email,
    ...token,
  });
  if (!model.mailsCodes) return void expect(said(seen)).toBe('sign-in sign_in.error.code_disabled');
  const isRefused = model.isLocked('sign-in', email) || !model.mayMail('code', email, 10);
  if (isRefused) return void expect(said(seen)).toBe('429 rate_limit.exceeded');
  expect(said(seen)).toBe('code-sent');
  const person = model.byAddress(email);
  const mail = await expectMails(it, ...(person?.isActive ? [`sign-in-code ${person.email}`] : []));
  const code: MailedCode = {
    ...{ digits: mail ? digitsIn(mail) : null, person: person?.isActive ? person : null, email },
    ...{ madeAt: it.now(), tries: 0, usedAt: null, isVoid: false },
  };
  model.codes.push(code);
  const codes = page.is === 'code-sent' ? page.codes : [];
  codes.push(code);
  keep(it, { is: 'code-sent', of, request, token: seen.fields.login_token as string, email, codes });
}

/** Draws what is typed: mostly the newest code of the page, or an older one, another page's, or any digits. */
export function someDigits({ random, model }: World, codes: readonly MailedCode[]): string {
  const known = [
    codes.at(-1),
    codes.at(-1),
    codes.at(-1),
    codes.at(-1),
    codes.at(-2),
    random.of(model.codes.slice(-4)),
    undefined,
  ];
  return random.of(known)?.digits ?? '000001';
}

export async function typeCode(it: World, { of, request, token, email, codes }: Of<'code-sent'>): Promise<void> {
  const { model } = it;
  const code = someDigits(it, codes);
  const at = it.now();
  const seen = await send(it, of, '/oauth/login/email-otp/verify', {
    ...request.params,
    method: 'code',
    login_token: token,
    code,
  });
  if (!model.mailsCodes) return void expect(said(seen)).toBe('sign-in sign_in.error.code_disabled');
  const refused = model.try('sign-in', email);
  if (refused) return void expect(said(seen)).toBe('429 rate_limit.exceeded');
  const entered = model.enter(codes, code, at);
  const person = model.byAddress(email);
  const isTheirs = person?.isActive && codes.at(-1)?.person === person;
  it.tell(`  ${entered} ${isTheirs ? '' : 'not theirs'}`);
  const isLetIn = entered === 'right' && isTheirs;
  if (entered === 'spent' && isTheirs) {
    model.right('sign-in', email);
    const session = live(it, of);
    if (isJson(seen)) return void expect(said(seen)).toBe('code-sent email_code.error.code');
    if (session?.person !== person) return void expect(said(seen)).toBe(expired(seen, 'code_used'));
    return follow(it, of, seen);
  }
  if (!isLetIn) {
    const isGuess = entered === 'right' || entered === 'wrong';
    if (!isGuess) model.takenBack('sign-in', email);
    keep(it, { is: 'code-sent', of, request, token, email, codes });
    return void expect(said(seen)).toBe(`code-sent email_code.error.${isGuess ? 'code' : 'void'}`);
  }
  model.right('sign-in', email);
  if (!person.isVerified) {
    if (person.password !== null) model.newPassword(person, null, null, at);
    model.proved(person, at);
  }
  await expectAfter(it, of, { request, proof: first(it, person, 'email_otp', ['otp']), seen });
}

/** Signs in with a passkey, possibly one that was removed. */
export async function usePasskey(it: World, { of, request }: Of<'sign-in'>): Promise<void> {
  const { model, random } = it;
  const all = model.people.flatMap((person) => person.keys.map((key) => ({ person, key })));
  const found = random.of(all);
  if (!found) return;
  const { person, key } = found;
  const begun = await script(of, '/oauth/login/passkey/options', request.params);
  const options = (begun.fields as unknown as { options: PublicKeyCredentialRequestOptionsJSON }).options;
  const token = begun.fields.passkey_token;
  const credential = key.authenticator.get(options);
  const seen = await script(of, '/oauth/login/passkey/verify', { ...request.params, passkey_token: token, credential });
  const factor = person.factors.find((one) => one.key === key);
  if (!factor || !person.isActive || !person.isMember) return void expect(said(seen)).toBe('400 refused');
  // Passwords are never switched off here, so there is another way.
  if (!factor.signsIn) return void expect(said(seen)).toBe('400 mfa.second_factor_only');
  const proof = first(it, person, 'passkey', [key.isSynced ? 'swk' : 'hwk', 'user', 'mfa']);
  await expectAfter(it, of, { request, proof, seen });
}
