import { codeMailed } from './account.js';
import { signsIn } from './enrollments.js';
import { act, entered, expectDone, expectRefused, newForm, proven, statusOf } from './forms.js';
import { anyone, someDigits } from './sign-ins.js';
import { expectMails, type World } from './world.js';

/** Asks for another address, which may be somebody else's. */
export async function askForAddress(it: World): Promise<void> {
  const { model, random } = it;
  const form = newForm(it, 'email');
  const other = anyone(it).email;
  const email = random.below(4) === 0 ? other : `a${++it.count}-${it.account.accountSlug}@example.com`;
  const seen = await act(it, form, { email });
  const session = await entered(it, form, seen);
  if (!session) return;
  const { person } = session;
  if (!model.changesEmail) return expectRefused(seen, 404, 'route.not_found');
  if (!(await proven(it, form, seen, session, 'factors'))) return;
  const isAllowed = model.mayMail('own-email', person.id, 5) && model.mayMail('own-email-to', email, 3);
  if (!isAllowed) return expectRefused(seen, 429, 'rate_limit.exceeded');
  if (!signsIn(person, session.began)) return expectRefused(seen, 403, 'mfa.second_factor_only');
  if (email === person.email)
    return expectRefused(seen, 409, 'email_change.unchanged', 'account.email.error.unchanged');
  expect(statusOf(seen)).toBe(200);
  const owner = model.people.find((one) => one.email === email && !one.isGone);
  const first = owner ? `identity-email-taken ${owner.email}` : `identity-email-code ${email}`;
  const code = await codeMailed(it, session, first, `security-notice ${person.email}`);
  session.addressCodes.push(Object.assign(code, { email }));
}

/** Types the code that came to the new address. */
export async function typeAddressCode(it: World): Promise<void> {
  const { model } = it;
  const form = newForm(it, 'email');
  const code = someDigits(it, form.of.session?.addressCodes ?? []);
  const at = it.now();
  const seen = await act(it, form, { code });
  const session = await entered(it, form, seen);
  if (!session) return;
  const { person, addressCodes } = session;
  const refused = model.try('own-email', person.id);
  if (refused) return expectRefused(seen, 429, 'rate_limit.exceeded');
  const newest = addressCodes.at(-1);
  const before = newest && { ...newest };
  const is = model.enter(addressCodes, code, at);
  const wrong = () => expectRefused(seen, 400, 'email_change.code_invalid', 'account.factor.error.code');
  if (is === 'spent' && newest?.isDone && newest.email === person.email) {
    model.right('own-email', person.id);
    return void expectDone(seen, 'email_changed');
  }
  if (is !== 'right' || !newest) return wrong();
  const isTaken = model.people.some((one) => one.email === newest.email && !one.isGone);
  if (person.setAt > newest.madeAt || !model.changesEmail || isTaken) {
    Object.assign(newest, before); // a refused change leaves the code as it was
    if (person.setAt > newest.madeAt) return wrong();
    if (!model.changesEmail) return expectRefused(seen, 404, 'route.not_found');
    return expectRefused(seen, 409, 'email_change.address_taken', 'account.email.error.taken');
  }
  expectDone(seen, 'email_changed');
  const former = person.email;
  model.right('own-email', person.id);
  model.moved(person, newest.email, at);
  Object.assign(person, { isVerified: true });
  Object.assign(newest, { isVoid: false, isDone: true });
  model.endSessions(person, { keep: session, alsoSteps: true }, at);
  model.distrust(person);
  model.tries.delete(`sign-in ${newest.email}`);
  await expectMails(it, `identity-email-changed ${former}`);
}
