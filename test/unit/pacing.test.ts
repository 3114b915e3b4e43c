import { createPacing } from '../../src/domain/hierarchy/pacing.js';

function busyFor(ms: number): string {
  const over = performance.now() + ms;
  while (performance.now() < over);
  return 'done';
}

test('large work is done in pieces, and other work has its turn in between', async () => {
  const pacing = createPacing(5);
  let turns = 0;
  const other = () => {
    turns++;
    if (turns < 10) setImmediate(other);
  };
  setImmediate(other);
  for (let i = 0; i < 5; i++) expect(await pacing.piece(() => busyFor(6))).toBe('done');
  expect(turns).toBeGreaterThanOrEqual(4);
  expect(pacing.spent()).toBeGreaterThanOrEqual(30);
});

test('quick work does not pause', async () => {
  const pacing = createPacing(60_000);
  let turns = 0;
  setImmediate(() => turns++);
  for (let i = 0; i < 100; i++) await pacing.piece(() => i);
  expect(turns).toBe(0);
});

test('a piece that fails fails for its caller', async () => {
  const pacing = createPacing();
  await expect(
    pacing.piece(() => {
      throw new RangeError('of the work');
    }),
  ).rejects.toThrow('of the work');
});
