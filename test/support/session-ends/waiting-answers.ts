import { minutes } from '../../../src/platform/clock.js';
import { newPkce } from '../oauth/sign-in.js';
import { openIdLogout, samlLogout } from './provider-messages.js';
import { answered, codeIn, newIndex, take, type Visit } from './sign-ins.js';
import type { LivePerson, World } from './world.js';

/** How long an answer waits for its browser, from the moment when the person was sent away. */
const requestLife = minutes(10);

/**
 * Somebody signs in at their provider, whose answer is accepted; their browser, another one, comes for that later.
 * Mostly the provider says something meanwhile.
 */
export async function isAnswered(it: World): Promise<string> {
  const { random, people, places, service } = it;
  const of = random.of(people.filter(({ by }) => by !== null)) as LivePerson;
  const to = random.of(it.applications.filter(({ place }) => place === places[0]));
  const visit: Visit = { browser: service.browser(), to };
  const { verifier, challenge } = newPkce();
  const came = { of, by: of.by!, index: newIndex(it, of), isOver: false, isForgotten: false };
  const endsAt = it.now() + requestLife;
  const link = await answered(it, visit, of, { index: came.index, challenge });
  it.coming.push({ visit, of, came, link, verifier, endsAt });
  const said = random.below(3) > 0 ? await (of.by?.type === 'saml' ? samlLogout : openIdLogout)(it) : 'nothing';
  const then = random.below(2) === 0 ? await comesForIt(it, it.coming.at(-1)) : 'is awaited';
  return `${of.email} by ${of.by?.type} ${came.index}, provider: ${said}, browser: ${then}`;
}

/** A browser comes for an answer: it is signed in, unless the provider has ended that session since. */
export async function comesForIt(it: World, one = it.random.of(it.coming)): Promise<string> {
  const { model, now } = it;
  if (!one) return 'nobody';
  it.coming = it.coming.filter((other) => other !== one);
  const { visit, of, came, verifier } = one;
  const { browser, to } = visit;
  const completed = await browser.get(one.link);
  const isRefused = came.isOver || of.keptOutOf.has(to.place);
  const isInTime = now() < one.endsAt && it.applications.includes(to);
  if (!isInTime || isRefused) {
    if (isInTime) expect(completed.statusCode).toBe(403);
    return `${of.email} in vain: ${completed.statusCode}`;
  }
  model.providerSessions.push(came);
  const into = model.signIn(of, { browser, at: to.place }, came, now());
  await take(it, visit, of, (await codeIn(browser, completed, of, to)) ?? '', verifier, into, came);
  return of.email;
}
