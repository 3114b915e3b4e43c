import { exportJWK, generateKeyPair } from 'jose';
import { minutes } from '../../src/platform/clock.js';
import { OutboundError } from '../../src/platform/outbound/errors.js';
import { createKeySets } from '../../src/platform/outbound/key-sets.js';

const uri = 'https://client.example/jwks';
const start = Date.parse('2026-01-01T00:00:00Z');

/** Creates a site that serves its keys, and the clock of its reader. */
async function newSite() {
  const key = { ...(await exportJWK((await generateKeyPair('RS256')).publicKey)), kid: 'one', alg: 'RS256' };
  const site = { time: start, isAway: false, asked: 0, answered: Promise.resolve() };
  const sets = createKeySets({
    now: () => new Date(site.time),
    unreadable: (why) => new Error(why),
    outbound: {
      get: async () => {
        site.asked++;
        await site.answered;
        if (site.isAway) throw new OutboundError('timeout');
        return { status: 200, body: Buffer.from(JSON.stringify({ keys: [key] })) };
      },
    },
  });
  return { site, sets };
}

test('a failure from before the clock was set back an hour does not prevent a fetch', async () => {
  const { site, sets } = await newSite();
  site.isAway = true;
  await expect(sets.at(uri)).rejects.toThrow('away');
  site.isAway = false;
  site.time -= minutes(60);
  await expect(sets.at(uri)).resolves.toBeInstanceOf(Function);
});

test('keys from before the clock was set back an hour are fetched again', async () => {
  const { site, sets } = await newSite();
  await sets.at(uri);
  await sets.at(uri);
  expect(site.asked).toBe(1);
  site.time -= minutes(60);
  await sets.at(uri);
  expect(site.asked).toBe(2);
});

test.each([
  ['answers', undefined],
  ['fails', new OutboundError('timeout')],
])('all who ask for newer keys during a fetch share the next one, also if the first %s', async (_, failure) => {
  const { site, sets } = await newSite();
  await sets.at(uri);
  let end = () => {};
  site.answered = new Promise((resolve, reject) => {
    end = () => (failure ? reject(failure) : resolve());
  });
  const fetches: Promise<unknown>[] = [];
  for (let i = 0; i < 20; i++) fetches.push((await sets.ofJustNow(uri)).newer());
  site.answered = Promise.resolve();
  end();
  const [, ...next] = await Promise.allSettled(fetches);
  expect(next.map(({ status }) => status)).toEqual(Array(19).fill('fulfilled'));
  expect(site.asked).toBe(3);
});
