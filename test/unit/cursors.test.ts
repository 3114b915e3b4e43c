import { randomUUID } from 'node:crypto';
import { afterCursor, placeIn, readCursor, writeCursor } from '../../src/domain/lists/cursors.js';

const placeId = '0193fd2e-7c1b-7d2a-9a4b-00000000000f';

test.each([
  [0, '1970-01-01T00:00:00.000000Z'],
  [0.000001, '1970-01-01T00:00:00.000001Z'],
  [1_767_225_600.999999, '2026-01-01T00:00:00.999999Z'],
  [1_767_225_600.1, '2026-01-01T00:00:00.100000Z'],
  [8_589_934_591.999999, '2242-03-16T12:56:31.999999Z'],
])('%d seconds are read as %s, in a cursor too', (placeAt, createdAt) => {
  const place = { createdAt, id: placeId };
  expect(placeIn({ placeAt, placeId })).toEqual(place);
  expect(readCursor(writeCursor({ placeAt, placeId }))).toEqual(place);
});

test('each microsecond is another cursor, and can be read back unchanged', () => {
  const begin = 1_795_000_000_000_000;
  const all = Array.from({ length: 2_000 }, (_, i) => ({ microseconds: begin + i * 499_999, placeId: randomUUID() }));
  for (const { microseconds, placeId } of all) {
    const { createdAt, id } = readCursor(writeCursor({ placeAt: microseconds / 1_000_000, placeId }));
    expect(id).toBe(placeId);
    const inMs = Date.parse(`${createdAt.slice(0, 23)}Z`);
    expect(inMs * 1000 + Number(createdAt.slice(23, 26))).toBe(microseconds);
  }
  expect(new Set(all.map((one) => writeCursor({ placeAt: one.microseconds / 1_000_000, ...one }))).size).toBe(
    all.length,
  );
});

test.each(['', 'AAAA', Buffer.alloc(24, 255).toString('base64url'), Buffer.alloc(24, 40).toString('base64url')])(
  'a cursor that no list gave is refused: %s',
  (cursor) => {
    const options = { details: [expect.objectContaining({ field: 'query.after', code: 'cursor' })] };
    expect(() => readCursor(cursor)).toThrow(expect.objectContaining({ code: 'validation.failed', options }));
  },
);

test('a cursor’s successors are what follows it in the order', () => {
  const place = { createdAt: '2026-01-01T00:00:00.000000Z', id: placeId };
  const values: unknown[] = [];
  const put = (value: unknown) => `$${values.push(value)}`;
  expect(afterCursor(place, ['a.created_at', 'a.id'], 'desc', put)).toBe(
    '(a.created_at, a.id) < ($1::timestamptz, $2::uuid)',
  );
  expect(afterCursor(place, ['a.created_at', 'a.id'], 'asc', put)).toBe(
    '(a.created_at, a.id) > ($3::timestamptz, $4::uuid)',
  );
  expect(values).toEqual([place.createdAt, place.id, place.createdAt, place.id]);
});
