import { judgeAnswer, newToken } from '../../src/domain/sso-domains/challenge.js';
import { claimableDomain, domainIn } from '../../src/domain/sso-domains/domain-name.js';
import { hasLapsed, lifeOf, nextLook, nextLookAtVerified } from '../../src/domain/sso-domains/schedule.js';
import { days, hours, minutes } from '../../src/platform/clock.js';
import { parseDurations } from '../../src/platform/duration.js';

test.each([
  ['acme.com', 'acme.com'],
  ['  ACME.Com. ', 'acme.com'],
  ['https://www.acme.com/de/impressum?a=b#c', 'acme.com'],
  ['http://acme.com:8080', 'acme.com'],
  ['HTTPS://WWW.ACME.COM', 'acme.com'],
  ['acme.com/path', 'acme.com'],
  ['mail.acme.co.uk', 'mail.acme.co.uk'],
  ['www.com', 'www.com'],
  ['www.www.acme.com', 'acme.com'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['BÜCHER.example', 'xn--bcher-kva.example'],
  ['faß.de', 'xn--fa-hia.de'],
  ['acme。com', 'acme.com'],
  ['ftp://files.acme.com', 'files.acme.com'],
])('%s is the domain %s', (text, domain) => expect(domainIn(text)).toBe(domain));

test.each([
  '',
  ' ',
  'acme',
  'localhost',
  'acme .com',
  `${'a'.repeat(64)}.com`,
  `${'a.'.repeat(126)}com`,
  '192.0.2.1',
  'http://192.0.2.1/',
  '0x7f.1',
  '[2001:db8::1]',
  'anna@acme.com',
  'https://gmail.com@acme.com',
  'ac_me.com',
  '-acme.com',
  'acme-.com',
  'acme..com',
  '.acme.com',
  '*.acme.com',
  'https://',
  'acme.com\u0000',
  'xn--a.com',
  'xn--a-.com',
  'acme.xn--0',
])('%j is no domain', (text) => {
  expect(domainIn(text)).toBeNull();
  expect(() => claimableDomain(text)).toThrow(expect.objectContaining({ code: 'sso_domain.malformed' }));
});

test.each([
  'gmail.com',
  'www.gmail.com',
  'googlemail.com',
  'mail.outlook.com',
  'yahoo.co.jp',
  'gmx.de',
  'proton.me',
  'https://fastmail.com',
])('%s is of a public provider', (text) =>
  expect(() => claimableDomain(text)).toThrow(expect.objectContaining({ code: 'sso_domain.public_provider' })),
);

test.each(['co.uk', 'github.io', 'http://www.co.uk/', 'com.br'])('%s is a public suffix', (text) =>
  expect(() => claimableDomain(text)).toThrow(expect.objectContaining({ code: 'sso_domain.public_suffix' })),
);

test.each(['acme.co.uk', 'acme.github.io', 'example.com', 'login.acme.example', 'siemens.com'])(
  '%s can be claimed',
  (text) => expect(claimableDomain(text)).toBe(text),
);

test('tokens are 160 bits in letters that survive every form', () => {
  const tokens = new Set(Array.from({ length: 100 }, newToken));
  expect(tokens.size).toBe(100);
  for (const token of tokens) expect(token).toMatch(/^[0-9a-v]{32}$/);
});

test('a check succeeds if one of the texts is the value, whole', () => {
  const found = (...texts: string[]) => judgeAnswer({ kind: 'found', texts }, 'svc-domain-verification=abc');
  expect(found('v=spf1 -all', 'svc-domain-verification=abc')).toEqual({ kind: 'found' });
  expect(found(' "svc-domain-verification=abc" ')).toEqual({ kind: 'found' });
  for (const wrong of ['svc-domain-verification=abd', 'svc-domain-verification=abcd', 'abc', ''])
    expect(found(wrong)).toEqual({ kind: 'missed', reason: 'record_mismatch', cachedMs: 0 });
  expect(judgeAnswer({ kind: 'absent', cachedMs: 5 }, 'x')).toEqual({
    kind: 'missed',
    reason: 'record_not_found',
    cachedMs: 5,
  });
  expect(judgeAnswer({ kind: 'broken' }, 'x')).toEqual({ kind: 'unknown', reason: 'dns_unavailable' });
});

describe('the schedule', () => {
  const pauses = parseDurations('10x1m,10x5m,71x1h,108x6h');
  const startedAt = new Date('2026-01-01T00:00:00Z');
  const at = (ms: number) => new Date(startedAt.getTime() + ms);

  test('is every minute for 10 minutes, every 5 minutes to 1 hour, hourly to 72 hours, every 6 hours to day 30', () => {
    const looks: number[] = [];
    for (let now = startedAt; now < at(days(30)); ) {
      now = nextLook({ startedAt }, { pauses }, { now });
      looks.push(now.getTime() - startedAt.getTime());
    }
    const every = (from: number, to: number, step: number) =>
      Array.from({ length: (to - from) / step }, (_, i) => from + (i + 1) * step);
    expect(looks).toEqual([
      ...every(0, minutes(10), minutes(1)),
      ...every(minutes(10), hours(1), minutes(5)),
      ...every(hours(1), hours(72), hours(1)),
      ...every(hours(72), days(30), hours(6)),
    ]);
    expect(lifeOf({ pauses })).toBe(days(30));
  });

  test('does not make up for missed checks, and checks no earlier than an absence may be forgotten', () => {
    const next = (now: Date, cachedMs?: number) => nextLook({ startedAt }, { pauses }, { now, cachedMs });
    expect(next(at(hours(5) + 1))).toEqual(at(hours(6)));
    expect(next(at(minutes(1)), minutes(30))).toEqual(at(minutes(35)));
    expect(next(at(minutes(1)), minutes(29))).toEqual(at(minutes(30)));
    expect(next(at(days(31)))).toEqual(at(days(31) + 1));
  });

  test('lets a verified domain lapse after three days without its record, or thirty without an answer', () => {
    const schedule = { pauses, recheckMs: hours(24), lapseAfterMs: hours(72) };
    const lapsed = (absentMs: number | null, now: number, seen: 'missed' | 'unknown') =>
      hasLapsed({ absentSince: absentMs === null ? null : at(absentMs), lastFoundAt: at(0) }, schedule, {
        now: at(now),
        seen,
      });
    expect(lapsed(0, hours(71), 'missed')).toBe(false);
    expect(lapsed(0, hours(72), 'missed')).toBe(true);
    expect(lapsed(null, days(29), 'unknown')).toBe(false);
    expect(lapsed(null, days(30), 'unknown')).toBe(true);
    expect(lapsed(0, hours(72), 'unknown')).toBe(false);
    expect(lapsed(0, days(30), 'unknown')).toBe(true);
    expect(lapsed(days(29), days(30), 'unknown')).toBe(false);
    const look = (absentMs: number | null, now: number, seen: 'missed' | 'unknown' | 'found') =>
      nextLookAtVerified({ absentSince: absentMs === null ? null : at(absentMs) }, schedule, { now: at(now), seen });
    expect(look(null, 0, 'found')).toEqual(at(hours(24)));
    expect(look(null, 0, 'unknown')).toEqual(at(hours(1)));
    expect(look(0, hours(60), 'missed')).toEqual(at(hours(72)));
  });
});
