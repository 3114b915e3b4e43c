/** Values on which parsers of all kinds have failed, for the fuzzer of requests (`fuzz-input.ts`). */

/** Part of every secret, address and query that the fuzzer sends: no log line may contain it. */
export const marker = 'leakmarker';

/** Texts that are not times, or times at the edge of what can be stored. */
export const oddTimes = [
  '2016-12-31T23:59:60Z',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999-23:59',
  '2026-01-01t00:00:00.123456789z',
  '2026-01-01',
];

export const oddTexts = [
  // Nothing, controls, and characters that other software joins, cuts or turns into others.
  '',
  ' ',
  '\u0000',
  `a\u0000${marker}`,
  '\ud800',
  '\udfff\ud800',
  '\u202e',
  '\ufeff',
  '💥',
  'ﬃ',
  'İ',
  '\r\nSet-Cookie: a=b',
  // Names that every JavaScript object has, and texts that careless code makes of other values.
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '[object Object]',
  'undefined',
  'null',
  'NaN',
  'true',
  // Numbers.
  '0',
  '-0',
  '-1',
  '1e400',
  '99999999999999999999',
  '2147483648',
  '0x10',
  '1.5',
  // Syntax of SQL, file systems, HTML, templates and URLs.
  "'; drop table users; --",
  '%',
  '_',
  '\\',
  '%_\\',
  '../../etc/passwd',
  '<script>alert(1)</script>',
  '$' + '{7*7}',
  '{{7*7}}',
  'javascript:alert(1)',
  'http://[::1',
  'http://a:b@c:99999/',
  // Ids and tokens.
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  'A'.repeat(43),
  'a.b.c',
  'eyJhbGciOiJub25lIn0.e30.',
  ...oddTimes,
  // Email addresses.
  `${marker}@example.com`,
  `ü.${marker}@exämple.com`,
  `"a b"@${marker}.example`,
  `a@${marker}`,
  `${'a'.repeat(240)}@${marker}.example`,
];

export const longTexts = ['x'.repeat(70_000), 'é'.repeat(300), 'x'.repeat(201), '\u0301'.repeat(2000)];

const nested = (depth: number, open: string, close: string) => `${open.repeat(depth)}1${close.repeat(depth)}`;

/** Bodies that are not JSON, or that parse into something unexpected. */
export const oddJsonTexts = [
  '{',
  '',
  '"',
  'nul',
  '01',
  '[1,]',
  '{"a":1}{"b":2}',
  '1e999',
  '-',
  '\ufeff{}',
  '{"__proto__":{"x":1}}',
  '{"constructor":{"prototype":{"x":1}}}',
  '{"a":1,"a":2}',
  '{"email":"\\ud800"}',
  '"\\u0000"',
  nested(20_000, '[', ']'),
  nested(20_000, '{"a":', '}'),
  `{"metadata":${nested(3_000, '[', ']')}}`,
  `"${'x'.repeat(1_100_000)}"`,
];

export const oddForms = ['%', '%zz=%', 'a=%ED%A0%80', '&&&==', 'a=b&a=c&a=d', '=', '+', '%00=%00'];

export const contentTypes = [
  'application/json',
  'application/x-www-form-urlencoded',
  'text/plain',
  'application/xml',
  'multipart/form-data',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-16',
  'application/json;',
  'application/jsonx',
  '',
  'APPLICATION/JSON',
  'application/x-www-form-urlencoded; charset=latin1',
  ';',
  '/',
  'a/b/c',
  'application/vnd.api+json',
];

const tokens = ['x', 'a.b.c', 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.', `${marker}`, '=', '☃'];
export const authorizations = [
  '',
  'Bearer',
  'Bearer ',
  'bearer  ',
  'Basic',
  'Basic ',
  'Basic Og==',
  'Basic OjpvOg==',
  'Basic !!!',
  'Digest x',
  'Negotiate',
  'Bearer a b',
  'Basic JTAwOiUwMA==',
  'Basic JXp6OiV6eg==',
  `Basic ${Buffer.from(`${marker}:${marker}`).toString('base64')}`,
  `Basic ${'A'.repeat(5000)}`,
  ...tokens.flatMap((token) => [`Bearer ${token}`, `Basic ${token}`]),
];

/** Odd values of headers, by their names. */
export const headerValues: Record<string, string[]> = {
  'if-match': [
    '',
    '*',
    '"1"',
    '1',
    'W/"1"',
    '"0"',
    '"-1"',
    '"999999999"',
    '99999999999999999999',
    '"1", "2"',
    '""',
    '1e3',
    '"１"',
  ],
  'if-none-match': ['*', '""', ',,,', 'W/', `"${marker}"`],
  'idempotency-key': ['', ' ', 'k', '\t', 'é', `${marker}`, 'x'.repeat(255), 'x'.repeat(256), 'a b', '"', '__proto__'],
  'x-request-id': ['', 'x', '00000000-0000-0000-0000-000000000000', `${marker}`, 'x'.repeat(5000)],
  accept: [
    '',
    '*/*',
    'application/json',
    'text/html',
    'text/html, application/json',
    'application/json;q=0',
    ';;;',
    'x'.repeat(5000),
  ],
  'accept-language': [
    '',
    '*',
    'de',
    'xx-YY-zz',
    'de;q=9',
    ';q=',
    '-',
    'en;q=NaN,de',
    `${'a-'.repeat(2000)}`,
    '__proto__',
    'constructor',
  ],
  'accept-encoding': ['', 'identity;q=0', 'gzip', '*;q=0'],
  'user-agent': ['', `${marker}`, '\x80\xff', 'x'.repeat(8000)],
  origin: ['null', '', 'http://localhost:3000', `https://${marker}.example`, 'http://', '://'],
  referer: ['', `https://x.example/?${marker}`, '://'],
  'sec-fetch-site': ['cross-site', 'same-origin', 'none', ''],
  'x-forwarded-for': ['', '::1', `${marker}`, '1.2.3.4, , 5', '999.1.1.1'],
  'x-forwarded-proto': ['https', 'javascript', ''],
  'x-forwarded-host': [`${marker}.example`, '', ':'],
  host: ['', 'localhost:3000', `${marker}.example`, '[::1', 'a b', 'a:99999'],
  'content-encoding': ['gzip', 'x', ''],
  'x-api-key': ['', ' ', 'ghk_test_', 'ghk_live_x_y', `ghk_test_${marker}_${'A'.repeat(60)}`, 'é', 'x'.repeat(8000)],
  range: ['bytes=0-', 'bytes=9-1', 'x'],
};

export const cookieParts = [
  '',
  '=',
  ';',
  'a',
  'a=b; a=c',
  '__proto__=x',
  'constructor=x',
  'a="',
  'a=%',
  'a=%ED%A0%80',
  'hosted_session=x',
];

/** Odd parts of paths. */
export const oddSegments = [
  '%00',
  '%zz',
  '%',
  '%ED%A0%80',
  '%2e%2e',
  '..%2f..',
  '%20',
  '-1',
  '0',
  'null',
  '__proto__',
  'constructor',
  ':id',
  '*',
  '%3F',
  '%23',
  '00000000-0000-0000-0000-000000000000',
  `${marker}`,
  'x'.repeat(299),
  'x'.repeat(301),
  '%F0%9F%92%A5',
  "'%20or%201=1",
  '%5B%5D',
  '%0d%0a',
];

/** Queries, as they are. */
export const rawQueries = [
  '',
  '&',
  '=',
  '%',
  '?',
  'a=%zz',
  '%ED%A0%80=1',
  'a[b][c]=1',
  'page=1&page=2',
  '__proto__[x]=1',
  `q=${marker}`,
  'page=1e3',
];
