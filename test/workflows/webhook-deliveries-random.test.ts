import { live, seedsOf } from '../support/random-histories.js';
import { expectTheModel } from '../support/webhook-histories/compare.js';
import { begin, next } from '../support/webhook-histories/steps.js';
import { newWorld, type Service, startService } from '../support/webhook-histories/world.js';

/**
 * Random histories of webhooks on the whole service: subscriptions of an Account and its Environments that come, change
 * and go, receivers that do whatever they like, retries and cancels by hand, a worker that is away or dies. Compared
 * with contract §7 and docs/webhooks.md in their plainest form: who gets which event, how often and when it is tried,
 * what the log says, which secrets sign, and what switches a subscription off.
 */

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

test.each(seedsOf(1, 2))('in every history, webhooks are delivered as documented: %i', async (seed) => {
  const world = await newWorld(service, seed);
  await begin(world);
  await expectTheModel(world);
  await live(seed, 30, async (tell) => {
    tell(await next(world));
    await expectTheModel(world);
  });
});
