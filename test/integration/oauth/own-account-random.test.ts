import { hours, minutes, seconds } from '../../../src/platform/clock.js';
import { startApi, type TestApi } from '../../support/api.js';
import {
  addApp,
  addKey,
  addMailbox,
  changePassword,
  nameFactor,
  removeFactor,
  renewCodes,
  shutOthers,
} from '../../support/own-accounts/account.js';
import { askForAddress, typeAddressCode } from '../../support/own-accounts/addresses.js';
import { beginWithFactors } from '../../support/own-accounts/beginnings.js';
import { answer } from '../../support/own-accounts/challenges.js';
import { expectTheModel } from '../../support/own-accounts/compare.js';
import { choose, confirmCodes, typeFirstCode } from '../../support/own-accounts/enrollments.js';
import { forget, signUp, useLink } from '../../support/own-accounts/links.js';
import { arrive, askForCode, attack, typeCode, typePassword, usePasskey } from '../../support/own-accounts/sign-ins.js';
import type { Page } from '../../support/own-accounts/state.js';
import { changeOrganization, changePolicy, helps, keepOut, replace } from '../../support/own-accounts/support.js';
import { newWorld, type World } from '../../support/own-accounts/world.js';
import { byWeight, live, seedsOf } from '../../support/random-histories.js';

/**
 * Random histories of the hosted pages and of one's own account: people of one Environment with several browsers sign
 * up and in, enroll, show, name and remove factors, change passwords and addresses, use links and codes late, twice or
 * on another's page, and go back to old pages, while policies change and support helps. Compared with the
 * specification, the contract (§3, §4, §10) and decisions 0006, 0011 to 0013, 0015, 0036, 0060 and 0111 in their
 * plainest form: which page or refusal follows, who is mailed what, which factors there are, and who is signed in where
 * with what.
 */

let api: TestApi;
beforeAll(async () => {
  api = await startApi({ RATE_LIMITS: 'on' });
});
afterAll(() => api.stop());

/** Sends the form of a page, mostly of the latest one. */
async function goOn(it: World): Promise<void> {
  const { random, model } = it;
  const page = random.below(4) === 0 ? random.of(model.pages.slice(-12)) : model.pages.at(-1 - random.below(2));
  if (!page) return arrive(it);
  it.tell(`  ${page.is} ${page.of.name}`);
  await submit(it, page);
}

async function submit(it: World, page: Page): Promise<void> {
  const { random } = it;
  switch (page.is) {
    case 'sign-in':
      return random.of([typePassword, typePassword, typePassword, askForCode, askForCode, usePasskey, forget, signUp])(
        it,
        page,
      );
    case 'code-sent':
      return random.below(4) === 0 ? askForCode(it, page) : typeCode(it, page);
    case 'challenge':
      return answer(it, page);
    case 'enroll':
      return choose(it, page);
    case 'enroll-app':
      return typeFirstCode(it, page);
    case 'codes':
      return confirmCodes(it, page);
  }
}

/** Lets time pass; what is counted by PostgreSQL's clock is forgotten with it. */
async function wait(it: World): Promise<void> {
  const { random, model, query } = it;
  const time = random.of([
    seconds(20),
    seconds(50),
    minutes(4),
    minutes(9),
    minutes(16),
    minutes(61),
    hours(13),
    hours(25),
  ]);
  it.tell(`  ${time / 60_000}`);
  it.api.clock.advance(time);
  if (time < minutes(16)) return;
  await query(`delete from rate_limits where expire < (extract(epoch from clock_timestamp()) * 1000)::bigint + $1`, [
    time,
  ]);
  for (const tries of model.tries.values()) Object.assign(tries, { burst: 0, ...(time > hours(24) && { day: 0 }) });
  for (const [key] of model.mails) if (time > minutes(60) || key.startsWith('factor')) model.mails.delete(key);
}

const steps: [number, (it: World) => Promise<unknown>][] = [
  [50, goOn],
  [14, arrive],
  [4, useLink],
  [3, changePassword],
  [4, addApp],
  [3, addKey],
  [4, addMailbox],
  [3, removeFactor],
  [1, nameFactor],
  [2, renewCodes],
  [2, shutOthers],
  [4, askForAddress],
  [4, typeAddressCode],
  [1, attack],
  [4, changePolicy],
  [2, changeOrganization],
  [2, keepOut],
  [4, helps],
  [1, replace],
  [6, wait],
];
const weighted = byWeight(steps);

const liveOn = (it: World, seed: number, length: number) =>
  live(seed, length, async (tell) => {
    it.tell = tell;
    const step = it.random.of(weighted);
    tell(`${step.name} ${it.api.clock.now.toISOString()}`);
    it.api.clock.advance(seconds(1));
    await step(it);
    await expectTheModel(it);
  });

test.each(seedsOf(1, 2, 8, 10, 12))(
  'in every history, people get to the pages, factors and sessions that are theirs: %i',
  async (seed) => liveOn(await newWorld(api, seed), seed, 150),
);

test.each(seedsOf(1))('and so do people who begin with an app, a passkey and a trusted browser: %i', async (seed) => {
  const it = await newWorld(api, seed);
  await beginWithFactors(it);
  await expectTheModel(it);
  await liveOn(it, seed, 100);
});
