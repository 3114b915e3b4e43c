import { setTimeout as sleep } from 'node:timers/promises';
import type { Check, Decision } from '../../src/domain/access/decisions/evaluate.js';
import { createBatcher } from '../../src/platform/database/batching.js';
import { until } from '../support/until.js';

const check = (permission: string): Check => ({ identityId: 'ana', permission, nodeId: null });
const allowed: Decision = { allowed: true, reason: 'granted' };
const denied: Decision = { allowed: false, reason: 'no_assignment' };
const decide = ({ permission }: Check) => (permission.startsWith('may') ? allowed : denied);

test('simultaneous questions share a statement, and each gets its own answers', async () => {
  const asked: [string, number][] = [];
  const together = createBatcher<Check, Decision>(async (environmentId, checks) => {
    asked.push([environmentId, checks.length]);
    return checks.map(decide);
  });
  const answers = await Promise.all([
    together('one', [check('may read'), check('write')]),
    together('one', [check('may write')]),
    together('other', [check('read')]),
  ]);
  expect(answers).toEqual([[allowed, denied], [allowed], [denied]]);
  expect(asked).toEqual([
    ['one', 3],
    ['other', 1],
  ]);
});

test('a question that comes while others are under way is sent afterwards, and never gets their answers', async () => {
  let isAllowed = true;
  const release: (() => void)[] = [];
  const together = createBatcher<Check, Decision>((_environmentId, checks) => {
    const seen = isAllowed; // as in the statement's snapshot
    return new Promise((resolve) => {
      release.push(() => resolve(checks.map(() => (seen ? allowed : denied))));
    });
  });
  const before = [together('one', [check('a')])];
  await turn();
  before.push(together('one', [check('b')]));
  await until('one goes beside it', () => release.length === 2);
  isAllowed = false;
  const after = [together('one', [check('a')]), together('one', [check('b')])];
  await sleep(30);
  expect(release).toHaveLength(2); // two at most; the rest waits for one of them
  release[0]?.();
  await turn();
  await turn();
  expect(release).toHaveLength(3);
  for (const each of release) each();
  expect(await Promise.all(before)).toEqual([[allowed], [allowed]]);
  expect(await Promise.all(after)).toEqual([[denied], [denied]]);
});

test('a refused question does not affect the others', async () => {
  const together = createBatcher<Check, Decision>(async (_environmentId, checks) => {
    if (checks.some(({ permission }) => permission.includes('\0'))) throw new Error('22021');
    return checks.map(decide);
  });
  const answers = await Promise.allSettled([together('one', [check('may')]), together('one', [check('\0')])]);
  expect(answers[0]).toEqual({ status: 'fulfilled', value: [allowed] });
  expect(answers[1]?.status).toBe('rejected');
});

test.each([
  ['an outage', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })],
  ['a refused connection', Object.assign(new Error('none is free'), { isConnectionRefused: true as const })],
])('%s is reported to all, and not retried', async (_what, error) => {
  let asked = 0;
  const together = createBatcher<Check, Decision>(async () => {
    asked++;
    throw error;
  });
  const answers = await Promise.allSettled([together('one', [check('a')]), together('one', [check('b')])]);
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(asked).toBe(1);
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Returns questions that are answered when the test says so. */
function held() {
  const asked: { checks: readonly Check[]; release(): void }[] = [];
  const together = createBatcher<Check, Decision>(
    (_environmentId, checks) =>
      new Promise((resolve) => {
        asked.push({ checks, release: () => resolve(checks.map(decide)) });
      }),
  );
  return { asked, ask: (permission: string) => together('one', [check(permission)]) };
}

test('two hundred requests share a statement; more are in the next one, at the same time', async () => {
  const { asked, ask } = held();
  const answers = Array.from({ length: 450 }, (_, i) => ask(i % 2 === 0 ? 'may' : 'write'));
  await turn();
  await turn();
  expect(asked.map(({ checks }) => checks.length)).toEqual([200, 200]);
  for (const { release } of asked) release();
  await turn();
  await turn();
  expect(asked.map(({ checks }) => checks.length)).toEqual([200, 200, 50]);
  for (const { release } of asked) release();
  expect(await Promise.all(answers)).toEqual(answers.map((_, i) => [i % 2 === 0 ? allowed : denied]));
  await turn();
  expect(asked).toHaveLength(3); // nothing is sent without a question
});

test('questions that come while a statement is under way share the next', async () => {
  const { asked, ask } = held();
  const answers = [ask('may a')];
  await turn();
  answers.push(ask('may b'));
  await turn();
  answers.push(ask('may c'));
  await turn();
  expect(asked).toHaveLength(1);
  asked[0]?.release();
  await answers[0];
  await turn();
  await turn();
  expect(asked.map(({ checks }) => checks.length)).toEqual([1, 2]);
  asked[1]?.release();
  expect(await Promise.all(answers)).toEqual([[allowed], [allowed], [allowed]]);
});

test('a slow statement is not waited for; two are under way at most, also after one of several has answered', async () => {
  const { asked, ask } = held();
  const answers = [ask('may a')];
  await turn();
  answers.push(ask('may b'));
  await turn();
  expect(asked).toHaveLength(1);
  await until('one goes beside it', () => asked.length === 2);
  asked[1]?.release();
  await answers[1];
  answers.push(ask('may c'));
  await turn();
  await turn();
  expect(asked).toHaveLength(3); // the first still runs
  answers.push(ask('may d'));
  await sleep(30);
  expect(asked).toHaveLength(3);
  for (const { release } of asked) release();
  await Promise.all(answers.slice(0, 3));
  await turn();
  await turn();
  expect(asked).toHaveLength(4);
  asked[3]?.release();
  expect(await Promise.all(answers)).toEqual(answers.map(() => [allowed]));
});

test('a question that was sent alone and refused is not sent again', async () => {
  let asked = 0;
  const together = createBatcher<Check, Decision>(async () => {
    asked++;
    throw new Error('22021');
  });
  await expect(together('one', [check('\0')])).rejects.toThrow('22021');
  await turn();
  expect(asked).toBe(1);
});
