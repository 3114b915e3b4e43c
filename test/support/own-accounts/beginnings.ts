import { seconds } from '../../../src/platform/clock.js';
import { addApp, addKey } from './account.js';
import { typeApp } from './challenges.js';
import type { Form } from './forms.js';
import { typePassword } from './sign-ins.js';
import type { Of, Page, Person, Visitor } from './state.js';
import { visit } from './steps.js';
import { newRequest, type World } from './world.js';

const formOf = (of: Visitor, page: string): Form => ({ of, page, shownTo: of.session?.id ?? 'none' });

function shown<Is extends Page['is']>({ model }: World, is: Is): Of<Is> {
  const page = model.pages.at(-1);
  if (page?.is !== is) throw new Error(`${page?.is} is shown, and not ${is}`);
  return page as Of<Is>;
}

async function signIn(it: World, of: Visitor, { email }: Person): Promise<void> {
  it.api.clock.advance(seconds(31)); // an app's code works once
  await visit(it, of, newRequest(it, { prompt: 'login' }));
  await typePassword(it, shown(it, 'sign-in'), false, email);
}

/**
 * Has a history begin with people who have been here for a while: one with an app, whose browser is trusted, and one
 * with a passkey and an app.
 */
export async function beginWithFactors(it: World): Promise<void> {
  const { model } = it;
  const [ana, ben] = model.people as [Person, Person];
  const [annas, bens] = model.visitors as [Visitor, Visitor];
  await signIn(it, bens, ben);
  await addKey(it, formOf(bens, 'factors/webauthn'));
  for (const [of, person] of [
    [annas, ana],
    [bens, ben],
  ] as const) {
    if (of === annas) await signIn(it, of, person);
    while (!model.has(person, 'totp')) await addApp(it, formOf(of, 'factors/totp')); // they may mistype
  }
  while (!annas.trusts.has(ana)) {
    await signIn(it, annas, ana);
    await typeApp(it, shown(it, 'challenge'), { remember_device: 'true' });
  }
}
