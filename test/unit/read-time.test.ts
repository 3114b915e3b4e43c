import fc from 'fast-check';
import pg from 'pg';
import { readTime, valueTypes } from '../../src/platform/database/read-time.js';

const readByDriver = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ) as (text: string) => unknown;

/** As PostgreSQL writes it, with as many digits of the second as are needed. */
const written = (time: Date, microseconds: number) => {
  const [day, clock] = time.toISOString().split('.')[0]?.split('T') ?? [];
  const fraction = microseconds === 0 ? '' : `.${String(microseconds).padStart(6, '0').replace(/0+$/, '')}`;
  return `${day} ${clock}${fraction}+00`;
};

describe('times that PostgreSQL sends', () => {
  test('each millisecond is read exactly', () => {
    const start = Date.parse('2024-02-29T23:59:59.000Z');
    const all = Array.from({ length: 1000 }, (_, ms) => ms);
    expect(all.map((ms) => readTime(written(new Date(start), 1000 * ms)).getTime())).toEqual(
      all.map((ms) => start + ms),
    );
  });

  test('microseconds are cut off, as the driver does', () => {
    const within = fc.date({ min: new Date('1000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
    fc.assert(
      fc.property(within, fc.integer({ min: 0, max: 999_999 }), (time, microseconds) => {
        const text = written(time, microseconds);
        expect(readTime(text)).toEqual(readByDriver(text));
      }),
    );
  });

  test.each([
    'infinity',
    '-infinity',
    '0001-01-01 00:00:00+00',
    '0999-12-31 23:59:59.5+00',
    '0044-03-15 12:00:00+00 BC',
    '1044-03-15 12:00:00+00 BC',
    '10000-01-01 00:00:00+00',
    '2024-02-29 12:00:00+02',
    '2024-02-29 12:00:00.25-05:30',
  ])('%s is left to the driver', (text) => {
    expect(readTime(text)).toEqual(readByDriver(text));
  });

  test('all other types are read as the driver does', () => {
    const { INT4, JSONB, TIMESTAMPTZ, UUID } = pg.types.builtins;
    for (const type of [INT4, JSONB, UUID]) {
      expect(valueTypes.getTypeParser(type, 'text')).toBe(pg.types.getTypeParser(type, 'text'));
    }
    expect(valueTypes.getTypeParser(TIMESTAMPTZ, 'text')).toBe(readTime);
  });
});
