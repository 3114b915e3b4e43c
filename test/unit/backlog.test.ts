import { remembered } from '../../src/worker/backlog.js';

test('a database that does not answer delays no scrape of its figures, and is not queried twice meanwhile', async () => {
  let [asked, answer] = [0, (_: number) => {}];
  const figures = remembered(0, () => {
    asked++;
    return new Promise<number>((resolve) => {
      answer = resolve;
    });
  });
  expect(await Promise.all([figures(), figures()])).toEqual([undefined, undefined]);
  expect(await figures()).toBeUndefined();
  expect(asked).toBe(1);
  answer(7);
  await new Promise(setImmediate);
  const next = figures();
  answer(8);
  expect([await next, asked]).toEqual([8, 2]);
});

test('the next scrape queries what could not be read, and what was read only when it is due', async () => {
  let asked = 0;
  const figures = remembered(60_000, async () => {
    if (++asked === 1) throw new Error('gone');
    return asked;
  });
  expect([await figures(), await figures(), await figures()]).toEqual([undefined, 2, 2]);
});
