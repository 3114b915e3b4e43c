import pg from 'pg';
import { lostRaceOf } from '../../src/http/surfaces/lost-races.js';

const refused = (code: string, constraint?: string) => {
  const error = new pg.DatabaseError('as PostgreSQL says it', 0, 'error');
  return lostRaceOf(Object.assign(error, { code, constraint }));
};

test.each([
  ['a deadlock', '40P01'],
  ['a serialization failure', '40001'],
  ['a lock timeout', '55P03'],
])('%s may be retried after a second', (_, code) => {
  expect(refused(code)).toMatchObject({ code: 'service.unavailable', options: { retryAfter: 1 } });
});

test('a parent that was deleted meanwhile is not found', () => {
  expect(refused('23503', 'nodes_environment_fk')).toMatchObject({ code: 'environment.not_found' });
  expect(refused('23503', 'of_another_fk')).toMatchObject({ code: 'service.unavailable' });
});

test('another error is no lost race', () => {
  expect(refused('22P02')).toBeNull();
  expect(refused('40P01'.toLowerCase())).toBeNull();
  expect(lostRaceOf(new Error('of something else'))).toBeNull();
});
