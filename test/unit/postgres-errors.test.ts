import { expect, test } from '@jest/globals';
import pg from 'pg';
import { violates } from '../../src/platform/database/postgres-errors.js';

const refusal = (code: string, constraint: string) =>
  Object.assign(new pg.DatabaseError('refused', 0, 'error'), { code, constraint });

test('a constraint is violated by a SQLSTATE of its class; other errors that name it are no violation', () => {
  expect(violates(refusal('23505', 'users_email'), 'users_email')).toBe(true);
  expect(violates({ driverError: refusal('23503', 'a_fk') }, 'a_fk')).toBe(true);
  expect(violates(refusal('23505', 'users_email'), 'users_name')).toBe(false);
  // The value is too long for the index.
  expect(violates(refusal('54000', 'users_email'), 'users_email')).toBe(false);
  expect(violates(new Error('other'), 'users_email')).toBe(false);
});
