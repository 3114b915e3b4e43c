import { hours } from '../../../src/platform/clock.js';
import { twice } from './model.js';
import { anyone } from './sign-ins.js';
import type { Link, Of, Person } from './state.js';
import { said } from './steps.js';
import { expectMails, isJson, passwordOf, send, type World } from './world.js';

type SignInPage = Of<'sign-in'>;
const tokenIn = (link: unknown) => new URL(String(link)).searchParams.get('token') ?? '';
const fresh = { usedAt: null, isVoid: false, tries: 0, password: null, cookie: null };

/** Says that the password is forgotten. */
export async function forget(it: World, { of, request }: SignInPage): Promise<void> {
  const { model, random } = it;
  const email = random.below(6) === 0 ? 'nobody-0@example.com' : anyone(it).email;
  const seen = await send(it, of, '/oauth/password/forgot', { ...request.params, email });
  if (!model.mayMail('forgot', email, 5)) return void expect(said(seen)).toBe('429 rate_limit.exceeded');
  expect(said(seen)).toBe(isJson(seen) ? '200' : 'sign-in sign_in.notice.reset_mail');
  const person = model.byAddress(email);
  const isMailed = person?.isActive === true;
  const mail = await expectMails(it, ...(isMailed ? [`identity-password-reset ${person.email}`] : []));
  if (person && isMailed) newResetLink(it, person, mail?.values.link);
}

export function newResetLink({ model, now }: World, person: Person, link: unknown): void {
  for (const one of model.links) if (one.person === person && one.to === 'reset') one.isVoid = true;
  model.links.push({ ...fresh, to: 'reset', token: tokenIn(link), person, madeAt: now() });
}

/** Signs up with an address that may be known. */
export async function signUp(it: World, { of, request }: SignInPage): Promise<void> {
  const { model, random, account } = it;
  const isNew = random.below(3) === 0 && model.people.length < 8;
  const email = isNew ? `n${++it.count}-${account.accountSlug}@example.com` : anyone(it).email;
  const password = passwordOf(it);
  const seen = await send(it, of, '/oauth/register', { ...request.params, email, password });
  if (!model.mayMail('sign-up', email, 5)) return void expect(said(seen)).toBe('429 rate_limit.exceeded');
  expect(said(seen)).toBe(isJson(seen) ? '200' : 'sign-in sign_in.notice.check_mail');
  const known = model.people.find((one) => one.email === email && !one.isGone);
  if (known?.isVerified) return void (await expectMails(it, `sign-up-known-address ${email}`));
  if (known && !known.isActive) return void (await expectMails(it)); // the link would not work
  const mail = await expectMails(it, `verify-email ${email}`);
  const person = known ?? (await newcomer(it, email));
  person.parked = password;
  const cookie = of.browser.cookies.get('sign_up') ?? null;
  model.links.push({
    ...fresh,
    to: 'confirm',
    token: tokenIn(mail?.values.link),
    person,
    madeAt: it.now(),
    password,
    cookie,
  });
}

async function newcomer({ model, query }: World, email: string): Promise<Person> {
  const [row] = await query<{ id: string }>('select id from identities where email = $1', [email]);
  const none = { password: null, parked: null, setAt: 0, grace: null, keys: [], factors: [], recoveryCodes: [] };
  const person = {
    ...none,
    id: row?.id ?? '',
    email,
    isVerified: false,
    isActive: true,
    isMember: true,
    isGone: false,
  };
  model.people.push(person);
  return person;
}

/** Opens a mailed link, mostly a late one, and sends its form. */
export async function useLink(it: World): Promise<void> {
  const { model, random } = it;
  const link = random.of(model.links.slice(-4));
  if (!link) return;
  await (link.to === 'reset' ? reset(it, link) : confirm(it, link));
}

async function reset(it: World, link: Link): Promise<void> {
  const { model, random } = it;
  const { person, token } = link;
  const at = it.now();
  const good = link.password !== null && random.below(2) === 0 ? link.password : passwordOf(it);
  const password = random.of([good, good, good, 'password1']);
  const seen = await send(it, random.of(model.visitors), '/oauth/password/reset', { token, password });
  const isOpen =
    link.usedAt === null && !link.isVoid && at < link.madeAt + hours(1) && person.isActive && person.isMember;
  const isRepeated = link.usedAt !== null && at - link.usedAt < twice && password === person.password && !isJson(seen);
  const status = seen.answer.statusCode;
  if (!isOpen) return void expect(status).toBe(isRepeated ? 200 : 400);
  if (password === 'password1') return void expect(seen.error).toBe('sign_up.error.breached');
  expect({ status, error: seen.error }).toEqual({ status: 200, error: null });
  const wasVerified = person.isVerified;
  model.newPassword(person, password, null, at);
  if (!wasVerified) model.proved(person, at);
  Object.assign(link, { usedAt: at, password });
  model.tries.delete(`sign-in ${person.email.toLowerCase()}`);
  await expectMails(it, `identity-password-changed ${person.email}`);
}

async function confirm(it: World, link: Link): Promise<void> {
  const { model, random } = it;
  const { person, token } = link;
  const at = it.now();
  const of = random.of(model.visitors);
  const password = random.of([null, link.password, 'not the right one']);
  const isTheirs = of.browser.cookies.get('sign_up') === link.cookie;
  const seen = await send(it, of, '/oauth/verify-email', { token, ...(password !== null && { password }) }, true);
  const status = seen.answer.statusCode;
  const isUsed = link.isVoid || link.usedAt !== null || person.isVerified || !person.isActive || !person.isMember;
  if (isUsed || at >= link.madeAt + hours(24) || link.tries >= 10) return void expect(status).toBe(400);
  if (!isTheirs && password === null) return void expect(said(seen)).toBe('401 login_required');
  if (!isTheirs) link.tries++;
  if (!isTheirs && password !== link.password)
    return void expect(said(seen)).toBe('401 access_denied confirm_sign_up.error.password');
  expect(status).toBe(200);
  Object.assign(link, { usedAt: at });
  Object.assign(person, { password: link.password, setAt: at });
  model.proved(person, at);
}
