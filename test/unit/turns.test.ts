import { setImmediate as nextTurn } from 'node:timers/promises';
import bcrypt from 'bcrypt';
import { hashPassword, verifyPassword } from '../../src/domain/passwords/hashing.js';
import { inTurns } from '../../src/domain/passwords/turns.js';

test('so many run at once, the others in their order, also behind one that failed', async () => {
  const turns = inTurns(2);
  const log: string[] = [];
  const running = new Set<number>();
  const results = await Promise.allSettled(
    [0, 1, 2, 3, 4, 5].map((i) =>
      turns(async () => {
        running.add(i);
        log.push(`${i} of ${running.size}`);
        await nextTurn();
        running.delete(i);
        if (i % 2 === 0) throw new Error(`failed ${i}`);
      }),
    ),
  );
  expect(results.map(({ status }) => status === 'fulfilled')).toEqual([false, true, false, true, false, true]);
  expect(log.map((line) => line[0])).toEqual(['0', '1', '2', '3', '4', '5']);
  expect(log.every((line) => /of [12]$/.test(line))).toBe(true);
  await expect(turns(async () => 'free again')).resolves.toBe('free again');
});

test('dear imported hashes keep no thread from a hash of ours', async () => {
  const [ours, dear] = await Promise.all([hashPassword('violet tractor'), bcrypt.hash('violet tractor', 12)]);
  let done = 0;
  const proofs = Array.from({ length: 12 }, () => verifyPassword(dear, 'violet tractor').then(() => done++));
  expect(await verifyPassword(ours, 'violet tractor')).toBe(true);
  expect(done).toBeLessThan(4); // with all threads taken, most of them come first
  await Promise.all(proofs);
  expect(done).toBe(12);
});
