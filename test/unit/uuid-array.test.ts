import { v7 as uuidv7 } from 'uuid';
import { uuidArray } from '../../src/platform/database/uuid-array.js';

test('UUIDs and nulls become one text', () => {
  const [a, b] = [uuidv7(), uuidv7().toUpperCase()];
  expect(uuidArray([a, null, b])).toBe(`{${a},null,${b}}`);
  expect(uuidArray([null])).toBe('{null}');
  expect(uuidArray([])).toBe('{}');
});

test('a value that could become two elements, or none, is refused', () => {
  const id = uuidv7();
  for (const other of [
    `${id},${id}`,
    '',
    'null',
    '{}',
    `"${id}"`,
    `urn:uuid:${id}`,
    `${id.slice(0, 35)},`,
    `${id}\n`,
  ]) {
    const ids = [id, other];
    expect(uuidArray(ids)).toBe(ids);
  }
});
