import type { Check, Decision } from '../../src/domain/access/evaluate.js';
import { createGathering } from '../../src/platform/gathering.js';

const check = (permission: string): Check => ({ identityId: 'ana', permission, nodeId: null });
const allowed: Decision = { allowed: true, reason: 'granted' };
const denied: Decision = { allowed: false, reason: 'no_assignment' };
const decide = ({ permission }: Check) => (permission.startsWith('may') ? allowed : denied);

test('questions of one moment are asked together, and each gets its own answers', async () => {
  const asked: [string, number][] = [];
  const together = createGathering<Check, Decision>(async (environmentId, checks) => {
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

test('a question that comes while others are under way is asked after it was put, never answered by theirs', async () => {
  let isAllowed = true;
  const release: (() => void)[] = [];
  const together = createGathering<Check, Decision>((_environmentId, checks) => {
    const seen = isAllowed; // as the statement's snapshot
    return new Promise((resolve) => {
      release.push(() => resolve(checks.map(() => (seen ? allowed : denied))));
    });
  });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const before = [together('one', [check('a')])];
  await turn();
  before.push(together('one', [check('b')]));
  await turn();
  isAllowed = false;
  const after = [together('one', [check('a')]), together('one', [check('b')])];
  await turn();
  expect(release).toHaveLength(2); // two at most; the rest waits for one of them
  release[0]?.();
  await turn();
  await turn();
  expect(release).toHaveLength(3);
  for (const each of release) each();
  expect(await Promise.all(before)).toEqual([[allowed], [allowed]]);
  expect(await Promise.all(after)).toEqual([[denied], [denied]]);
});

test('what is refused of one does not spoil the others', async () => {
  const together = createGathering<Check, Decision>(async (_environmentId, checks) => {
    if (checks.some(({ permission }) => permission.includes('\0'))) throw new Error('22021');
    return checks.map(decide);
  });
  const answers = await Promise.allSettled([together('one', [check('may')]), together('one', [check('\0')])]);
  expect(answers[0]).toEqual({ status: 'fulfilled', value: [allowed] });
  expect(answers[1]?.status).toBe('rejected');
});

test('an outage is told to all, and not asked about again', async () => {
  let asked = 0;
  const together = createGathering<Check, Decision>(async () => {
    asked++;
    throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  });
  const answers = await Promise.allSettled([together('one', [check('a')]), together('one', [check('b')])]);
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(asked).toBe(1);
});
