import { createDns, parseServers } from '../../src/platform/dns.js';
import { startDnsServer, type TestDnsServer } from '../support/dns-server.js';
import { amidCollections } from '../support/garbage.js';

let first: TestDnsServer;
let second: TestDnsServer;
beforeAll(async () => {
  [first, second] = [await startDnsServer(), await startDnsServer()];
});
afterAll(async () => {
  await first.stop();
  await second.stop();
});

const name = '_svc-verification.acme.example';
const minutesMs = 60_000;

describe('only the DNS_SERVERS are asked, if set', () => {
  const dns = () => createDns({ servers: [first.server] });

  test('TXT records are found, each joined from its strings', async () => {
    first.set(name, { txt: ['one', ['svc-domain-', 'verification=', 'abc']] });
    expect(await dns().txt(name)).toEqual({ kind: 'found', texts: ['one', 'svc-domain-verification=abc'] });
  });

  test.each(['nxdomain', 'nodata'] as const)(
    '%s is an absence, which may be cached as long as the zone says',
    async (absent) => {
      first.set(name, { absent, ttl: 300 });
      expect(await dns().txt(name)).toEqual({ kind: 'absent', cachedMs: 5 * minutesMs });
    },
  );

  test('an absence that a zone wants cached for a week is cached for three hours', async () => {
    first.set(name, { absent: 'nxdomain', ttl: 7 * 86_400 });
    expect(await dns().txt(name)).toEqual({ kind: 'absent', cachedMs: 180 * minutesMs });
  });

  test('an alias is followed, and a loop of aliases ends', async () => {
    first.set(name, { cname: 'verification.other.example' });
    first.set('verification.other.example', { txt: ['there'] });
    expect(await dns().txt(name)).toEqual({ kind: 'found', texts: ['there'] });
    first.set('verification.other.example', { cname: name });
    expect(await dns().txt(name)).toEqual({ kind: 'broken' });
  });

  test('a server that fails, does not answer or does not exist says nothing of the name', async () => {
    first.set(name, { servfail: true });
    expect(await dns().txt(name)).toEqual({ kind: 'broken' });
    first.set(name, { silent: true });
    expect(await createDns({ servers: [first.server], withinMs: 300 }).txt(name)).toEqual({ kind: 'broken' });
    expect(await createDns({ servers: [{ address: '127.0.0.1', port: 1 }] }).txt(name)).toEqual({ kind: 'broken' });
  });

  test('the next server is asked if the first one fails or does not answer', async () => {
    second.set(name, { txt: ['second'] });
    for (const behavior of [{ servfail: true }, { silent: true }] as const) {
      first.set(name, behavior);
      const dns = createDns({ servers: [first.server, second.server], withinMs: 30_000 });
      expect(await amidCollections(() => dns.txt(name))).toEqual({ kind: 'found', texts: ['second'] });
    }
  });

  test('a truncated answer is requested over TCP, and an answer to another question is ignored', async () => {
    const long = 'x'.repeat(255);
    first.set(name, { truncated: [long] });
    expect(await dns().txt(name)).toEqual({ kind: 'found', texts: [long] });
    first.set(name, { noise: ['right'] });
    expect(await dns().txt(name)).toEqual({ kind: 'found', texts: ['right'] });
  });
});

describe('without DNS_SERVERS the zone itself is asked', () => {
  // The first one is the system's resolver, which names the authoritative servers; its own TXT records are outdated.
  const dns = (more: { allowedNetworks?: string[]; withinMs?: number } = {}) =>
    createDns({
      servers: [],
      resolvers: [first.address],
      authorityPort: second.port,
      allowedNetworks: ['127.0.0.0/8'],
      ...more,
    });
  const zone = 'direct.example';
  const place = `_svc-verification.${zone}`;
  beforeAll(() => {
    first.set(zone, { ns: ['ns1.direct.example'] }, 'NS');
    first.set('ns1.direct.example', { a: ['127.0.0.1'] }, 'A');
    first.set(place, { txt: ['old'] }, 'TXT');
  });

  test('its present records count, not what resolvers have cached', async () => {
    second.set(place, { txt: ['new'] });
    const before = first.asked(place);
    expect(await dns().txt(place)).toEqual({ kind: 'found', texts: ['new'] });
    expect(first.asked(place)).toBe(before);
    second.set(place, { absent: 'nxdomain', ttl: 60 });
    expect(await dns().txt(place)).toEqual({ kind: 'absent', cachedMs: minutesMs });
  });

  test('a name below it belongs to the nearest zone; an alias leads to another zone', async () => {
    second.set(`_svc-verification.a.b.${zone}`, { cname: 'here.alias.example' });
    first.set('alias.example', { ns: ['ns1.direct.example'] }, 'NS');
    second.set('here.alias.example', { txt: ['aliased'] });
    expect(await dns().txt(`_svc-verification.a.b.${zone}`)).toEqual({ kind: 'found', texts: ['aliased'] });
  });

  test('it may have delegated the name to others, in a child zone only', async () => {
    second.set(place, { delegated: place, to: ['ns2.direct.example'] });
    first.set('ns2.direct.example', { a: ['127.0.0.2'] }, 'A'); // nothing listens there
    expect(await dns().txt(place)).toEqual({ kind: 'broken' });
    second.set(place, { delegated: 'example', to: ['ns1.direct.example'] });
    expect(await dns().txt(place)).toEqual({ kind: 'broken' });
  });

  test('a server that is not authoritative is ignored', async () => {
    second.set(place, { lame: ['believe me'] });
    expect(await dns().txt(place)).toEqual({ kind: 'broken' });
  });

  test('a zone whose servers have non-public addresses is not asked', async () => {
    second.set(place, { txt: ['new'] });
    const before = second.asked(place);
    expect(await dns({ allowedNetworks: [] }).txt(place)).toEqual({ kind: 'broken' });
    expect(second.asked(place)).toBe(before);
  });

  test('nothing is known while the resolvers fail or do not answer', async () => {
    first.set('mute.example', { servfail: true }, 'NS');
    expect(await dns().txt('_svc-verification.mute.example')).toEqual({ kind: 'broken' });
    first.set('mute.example', { silent: true }, 'NS');
    expect(await dns({ withinMs: 300 }).txt('_svc-verification.mute.example')).toEqual({ kind: 'broken' });
  });
});

test('servers are addresses, with a port if it is not 53', () => {
  expect(parseServers('192.0.2.1, 192.0.2.2:5353,2001:db8::1,[2001:db8::2]:54')).toEqual([
    { address: '192.0.2.1', port: 53 },
    { address: '192.0.2.2', port: 5353 },
    { address: '2001:db8::1', port: 53 },
    { address: '2001:db8::2', port: 54 },
  ]);
  for (const wrong of ['', 'dns.example', '192.0.2.1:', '192.0.2.1:0', '192.0.2.1:99999', '192.0.2.1,'])
    expect(() => parseServers(wrong)).toThrow('must be addresses');
});
