import { createPreparedTexts, plannedForItsValues } from '../../src/platform/database/prepared-texts.js';

test('a text is prepared at its second use, under one name for ever', () => {
  const { nameOf } = createPreparedTexts();
  expect(nameOf('select $1', [1])).toBeUndefined();
  const name = nameOf('select $1', [1]);
  expect(name).toBeDefined();
  expect(nameOf('select $1', [2])).toBe(name);
  nameOf('select $1, 2', [1]);
  expect(nameOf('select $1, 2', [1])).not.toBe(name);
});

test.each([
  'select id from t where a = $1 limit 50 offset 100',
  'select id from t where a = $1 LIMIT 37',
  'select * from t where a = $1',
  'update t set a = $1 returning *',
])('a text with a page’s numbers or all columns is never prepared: %s', (text) => {
  const { nameOf } = createPreparedTexts();
  for (let i = 0; i < 3; i++) expect(nameOf(text, [1])).toBeUndefined();
});

test('a text that is planned for its values is never prepared', () => {
  const { nameOf } = createPreparedTexts();
  for (let i = 0; i < 3; i++) expect(nameOf(plannedForItsValues('select $1'), [1])).toBeUndefined();
});

test('the first row of a query is prepared', () => {
  const { nameOf } = createPreparedTexts();
  nameOf('select id from t where a = $1 LIMIT 1', [1]);
  expect(nameOf('select id from t where a = $1 LIMIT 1', [1])).toBeDefined();
});

test('long lists of values are never prepared, and the number of texts is limited', () => {
  const { nameOf } = createPreparedTexts();
  const many = Array.from({ length: 41 }, () => 1);
  for (let i = 0; i < 3; i++) expect(nameOf('select any($1)', many)).toBeUndefined();
  const names = new Set<string | undefined>();
  for (let i = 0; i < 1000; i++) {
    nameOf(`select ${i}, $1`, [1]);
    names.add(nameOf(`select ${i}, $1`, [1]));
  }
  expect(names.size).toBe(401); // four hundred, and undefined
});
