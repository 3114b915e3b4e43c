import { days } from '../../src/platform/clock.js';
import { notAhead } from '../../src/worker/not-ahead.js';
import { newDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await newDatabase();
});
afterAll(() => database.close());

const shifted = (ms: number) => () => new Date(Date.now() + ms);

test('a clock that is ahead of PostgreSQL’s is replaced by it, and one that is behind is used', async () => {
  const [ahead, behind] = [
    await notAhead(database.db, shifted(days(100))),
    await notAhead(database.db, shifted(-days(1))),
  ];
  expect(Math.abs(ahead.getTime() - Date.now())).toBeLessThan(days(1) / 2);
  expect(Math.abs(behind.getTime() - (Date.now() - days(1)))).toBeLessThan(days(1) / 2);
});
