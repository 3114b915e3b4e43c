import fastify, { type FastifyInstance } from 'fastify';
import { sendError } from '../../src/http/errors.js';
import { createRateLimits } from '../../src/http/surfaces/rate-limits.js';

let app: FastifyInstance;
afterEach(() => app.close());

/** Starts an app whose routes count each request as of an address, a key or a token, three times a minute. */
function start(enabled = true) {
  const limits = createRateLimits({
    enabled,
    db: { statement: () => Promise.reject(new Error('these limits are counted in memory')) },
    perMinute: { anonymous: 3, apiKey: 4, jwt: 5 },
  });
  app = fastify();
  app.setErrorHandler(sendError);
  app.get('/anonymous', async ({ ip }, reply) => (await limits.general('anonymous', ip, reply)) ?? 'ok');
  app.get('/:kind/:key', async ({ params }, reply) => {
    const { kind, key } = params as { kind: 'apiKey' | 'jwt'; key: string };
    return (await limits.general(kind, key, reply)) ?? 'ok';
  });
  app.get('/proven', async (request, reply) => {
    request.proof = {} as never;
    return (await limits.general('anonymous', request.ip, reply)) ?? 'ok';
  });
}
const ask = async (url: string, count: number, remoteAddress = '192.0.2.1') => {
  const answers = [];
  for (let i = 0; i < count; i++) answers.push(await app.inject({ url, remoteAddress }));
  return answers;
};
const statuses = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).map(({ statusCode }) => statusCode);

test('each key and each subscriber has limits of their own, by the kind of the caller', async () => {
  start();
  expect(await statuses('/anonymous', 4)).toEqual([200, 200, 200, 429]);
  expect(await statuses('/anonymous', 1, '192.0.2.2')).toEqual([200]);
  expect(await statuses('/apiKey/one', 5)).toEqual([200, 200, 200, 200, 429]);
  expect(await statuses('/apiKey/other', 1)).toEqual([200]);
  expect(await statuses('/jwt/one', 6)).toEqual([200, 200, 200, 200, 200, 429]);
});

test('the addresses of one network count together', async () => {
  start();
  for (const [i, status] of [200, 200, 200, 429].entries())
    expect(await statuses('/anonymous', 1, `2001:db8:1:2::${i}`)).toEqual([status]);
  expect(await statuses('/anonymous', 1, '2001:db8:1:3::1')).toEqual([200]);
});

test('a refusal names its limit and says when to come back', async () => {
  start();
  const refused = (await ask('/anonymous', 4)).at(-1);
  expect(refused?.json().error.code).toBe('rate_limit.exceeded');
  const seconds = Number(refused?.headers['retry-after']);
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(60);
  expect(refused?.headers['ratelimit-policy']).toBe('"anonymous";q=3;w=60');
  expect(refused?.headers.ratelimit).toBe(`"anonymous";r=0;t=${seconds}`);
});

test('a caller who is checked once more is not counted again, and without limits nobody is', async () => {
  start();
  expect(await statuses('/proven', 5)).toEqual(Array(5).fill(200));
  await app.close();
  start(false);
  expect(await statuses('/anonymous', 5)).toEqual(Array(5).fill(200));
});
