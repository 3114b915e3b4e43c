import { startApi, type TestApi } from '../../support/api.js';
import { drawPair, problemsOfPair } from '../../support/pairs/compare.js';
import { type Happening, happeningsOf } from '../../support/pairs/happenings.js';
import { newWorld, type World } from '../../support/pairs/world.js';
import { createRandom } from '../../support/random.js';
import { live, seedsOf } from '../../support/random-histories.js';

/**
 * Any two requests that change something, at once: their answers, all rows and the events are those of one of the two
 * orders. `RANDOM_SEEDS=1,2,3` and `RANDOM_STEPS=100` look at other pairs than these.
 */

let api: TestApi;
let world: World;
let all: Happening[];
beforeAll(async () => {
  api = await startApi();
  world = await newWorld(api);
  all = await happeningsOf(api, world);
});
afterAll(() => api?.stop());

test.each(seedsOf(14, 19, 58))('two requests at once have the outcome of one order, seed %i', async (seed) => {
  const random = createRandom(seed);
  await live(seed, 20, async (tell) => {
    const pair = await drawPair(world, all, random);
    tell(pair.happenings.map(({ name }) => name).join(', and '));
    const stops = createRandom(random.below(2 ** 31)); // so that a change of the service does not change the pairs
    expect(await problemsOfPair(api, world, pair, stops)).toEqual([]);
  });
});

test('every operation that changes something, and what directories and people do, is among them', () => {
  expect(all.length).toBeGreaterThan(130);
});
