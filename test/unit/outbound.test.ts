import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseServers } from '../../src/platform/dns.js';
import { loopback } from '../../src/platform/outbound/addresses.js';
import { createOutbound } from '../../src/platform/outbound/fetch.js';
import { createGuard } from '../../src/platform/outbound/guard.js';
import { isListed, parseHosts } from '../../src/platform/outbound/hosts.js';
import { createResolveName, type FoundAddress } from '../../src/platform/outbound/names.js';
import { type PostLimits, post } from '../../src/platform/outbound/post.js';
import { startDnsServer } from '../support/dns-server.js';

const message = { headers: { 'content-type': 'application/json' }, body: '{"type":"node.created","data":"ä"}' };
const closing: (() => Promise<unknown> | unknown)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

interface Receiver {
  port: number;
  requests: { method: string; url: string; body: string; connection?: string }[];
}

async function receiver(answer: RequestListener, host = '127.0.0.1', port = 0): Promise<Receiver> {
  const requests: Receiver['requests'] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const body = Buffer.concat(chunks).toString('utf8');
      requests.push({ method, url, body, ...(headers.connection && { connection: headers.connection }) });
      answer(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, requests };
}

const isAt =
  (...addresses: string[]) =>
  async (): Promise<FoundAddress[]> =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
const open = createOutbound({ allowedNetworks: loopback });
const shut = createOutbound();
const impatient = (url: string, limits: Partial<PostLimits>, isPublic?: () => boolean) =>
  post(createGuard({ allowedNetworks: loopback, resolveName: createResolveName(), isPublic }), url, message, {
    answerWithinMs: 60_000,
    excerptWithinMs: 60_000,
    ...limits,
  });

describe('what is not called', () => {
  test.each([
    ...['https://127.0.0.1/', 'https://10.0.0.1/', 'https://172.16.3.4/', 'https://192.168.0.1/', 'https://0.0.0.0/'],
    ...['https://169.254.169.254/latest/meta-data', 'https://169.254.170.2/', 'https://168.63.129.16/'],
    ...['https://100.64.0.1/', 'https://100.100.100.200/', 'https://192.0.0.192/', 'https://224.0.0.1/'],
    ...['https://2130706433/', 'https://0x7f000001/', 'https://0177.0.0.1/', 'https://127.1/', 'https://0x7f.1/'],
    ...['https://2852039166/', 'https://0xa9.0xfe.0xa9.0xfe/', 'https://１２７.0.0.1/', 'https://①②⑦.0.0.1/'],
    ...['https://[::1]/', 'https://[::]/', 'https://[fe80::1]/', 'https://[fc00::1]/', 'https://[fd00:ec2::254]/'],
    ...['https://[::ffff:127.0.0.1]/', 'https://[::ffff:a9fe:a9fe]/', 'https://[0:0:0:0:0:ffff:10.1.2.3]/'],
    ...['https://[64:ff9b::7f00:1]/', 'https://[64:ff9b::a9fe:a9fe]/', 'https://[64:ff9b:1::a00:1]/'],
    ...['https://[2002:7f00:1::]/', 'https://[2002:a9fe:a9fe::1]/', 'https://[2001:0:a00:1::1]/', 'https://[ff02::1]/'],
    ...['https://[::7f00:1]/', 'https://[fec0::1]/', 'https://[100:0:0:1::1]/', 'https://[4000::1]/'],
    ...['https://localhost/', 'https://LOCALHOST./', 'https://db.localhost/'],
  ])('%s', async (url) => {
    await expect(shut.post(url, message)).rejects.toMatchObject({ reason: 'address' });
  });

  test.each([
    '127.0.0.1',
    '10.0.0.1',
    '169.254.169.254',
    '::1',
    '::ffff:169.254.169.254',
    'fd00:ec2::254',
    '2002:a00:1::',
  ])('a name with the address %s, also if it has a public address too', async (address) => {
    const outbound = createOutbound({ resolveName: isAt('93.184.216.34', address) });
    await expect(outbound.post('https://hooks.example.com/', message)).rejects.toMatchObject({ reason: 'address' });
  });

  test('plain http and other schemes, unless an operator has opened a network', async () => {
    for (const url of ['http://example.com/', 'ftp://example.com/', 'file:///etc/passwd', 'data:text/plain,hello']) {
      await expect(shut.post(url, message)).rejects.toMatchObject({ reason: 'scheme' });
    }
    await expect(open.post('ftp://127.0.0.1/', message)).rejects.toMatchObject({ reason: 'scheme' });
  });

  test('plain http to anywhere else, once an operator has opened a network', async () => {
    await expect(open.post('http://93.184.216.34/', message)).rejects.toMatchObject({ reason: 'scheme' });
    const outbound = createOutbound({ allowedNetworks: loopback, resolveName: isAt('93.184.216.34') });
    await expect(outbound.post('http://hooks.example.com/', message)).rejects.toMatchObject({ reason: 'scheme' });
    await expect(outbound.get('http://idp.example.com/jwks')).rejects.toMatchObject({ reason: 'scheme' });
    const mixed = createOutbound({ allowedNetworks: loopback, resolveName: isAt('127.0.0.1', '93.184.216.34') });
    await expect(mixed.get('http://idp.example.com/jwks')).rejects.toMatchObject({ reason: 'scheme' });
  });

  test('private addresses outside of the networks that an operator has opened', async () => {
    const { port, requests } = await receiver((_, response) => response.end());
    for (const allowedNetworks of [['10.0.0.0/8'], ['127.0.0.2/32'], ['::1/128']]) {
      const outbound = createOutbound({ allowedNetworks });
      await expect(outbound.post(`http://127.0.0.1:${port}/`, message)).rejects.toMatchObject({ reason: 'address' });
    }
    expect(requests).toEqual([]);
    const allowed = createOutbound({ allowedNetworks: ['127.0.0.1/32'] });
    expect(await allowed.post(`http://127.0.0.1:${port}/`, message)).toMatchObject({ status: 200 });
    expect(await allowed.post(`http://[::ffff:127.0.0.1]:${port}/`, message)).toMatchObject({ status: 200 });
  });

  test('the target of a redirect', async () => {
    const secret = await receiver((_, response) => response.end('secret'));
    const location = `http://127.0.0.1:${secret.port}/`;
    for (const status of [301, 302, 303, 307, 308]) {
      const { port } = await receiver((_, response) => response.writeHead(status, { location }).end());
      expect(await open.post(`http://127.0.0.1:${port}/`, message)).toMatchObject({ status });
    }
    expect(secret.requests).toEqual([]);
  });

  test('an address that a name has got since it was checked', async () => {
    const first = await receiver((_, response) => response.end(), '127.0.0.5');
    const inner = await receiver((_, response) => response.end('secret'), '127.0.0.1', first.port);
    const names = await startDnsServer();
    closing.push(names.stop);
    let asked = 0;
    names.set('rebinding.example.com', { absent: 'nodata' });
    names.set('rebinding.example.com', () => ({ a: [asked++ === 0 ? '127.0.0.5' : '127.0.0.1'] }), 'A');
    const resolveName = createResolveName({ servers: parseServers(names.address) });
    // The allowed address stands in for a public one.
    const outbound = createOutbound({ allowedNetworks: ['127.0.0.5/32'], resolveName });
    const url = `http://rebinding.example.com:${first.port}/`;
    expect(await outbound.post(url, message)).toMatchObject({ status: 200 });
    expect(first.requests).toHaveLength(1);
    expect(asked).toBe(1);
    await expect(outbound.post(url, message)).rejects.toMatchObject({ reason: 'address' });
    expect(asked).toBe(2);
    expect(inner.requests).toEqual([]);
  });
});

test('a resolver that never answers questions for IPv6 addresses delays no call', async () => {
  const names = await startDnsServer();
  closing.push(names.stop);
  let asked = 0;
  const silent = () => {
    asked++;
    return { silent: true } as const;
  };
  names.set('half.example.com', { a: ['127.0.0.2', '127.0.0.1'] }, 'A');
  names.set('half.example.com', silent, 'AAAA');
  const resolveName = createResolveName({ servers: parseServers(names.address), answerWithinMs: 5_000 });
  const found = await resolveName('half.example.com');
  expect(found.map(({ address }) => address).sort()).toEqual(['127.0.0.1', '127.0.0.2']);
  expect(asked).toBe(1); // it is repeated only after five seconds
});

test('the name servers of the operating system are read again: the network may have given it others', async () => {
  const [former, present] = [await startDnsServer(), await startDnsServer()];
  closing.push(former.stop, present.stop);
  former.set('moved.example.com', { a: ['127.0.0.1'] }, 'A');
  present.set('moved.example.com', { a: ['127.0.0.2'] }, 'A');
  let given = former;
  const resolveName = createResolveName({ systemServers: () => parseServers(given.address), renewAfterMs: 50 });
  expect(await resolveName('moved.example.com')).toEqual([{ address: '127.0.0.1', family: 4 }]);
  given = present;
  await sleep(60);
  expect(await resolveName('moved.example.com')).toEqual([{ address: '127.0.0.2', family: 4 }]);
});

test('a name server of the settings that does not answer is not the first one that is asked for the next name', async () => {
  const [away, present] = [await startDnsServer(), await startDnsServer()];
  closing.push(away.stop, present.stop);
  let asked = 0;
  const silent = () => {
    asked++;
    return { silent: true } as const;
  };
  away.set('kept.example.com', silent);
  present.set('kept.example.com', { absent: 'nodata' });
  present.set('kept.example.com', { a: ['127.0.0.1'] }, 'A');
  const servers = parseServers(`${away.address},${present.address}`);
  const resolveName = createResolveName({ servers, answerWithinMs: 100, renewAfterMs: 0 });
  expect(await resolveName('kept.example.com')).toEqual([{ address: '127.0.0.1', family: 4 }]);
  expect(asked).toBeGreaterThan(0);
  const before = asked;
  expect(await resolveName('kept.example.com')).toEqual([{ address: '127.0.0.1', family: 4 }]);
  expect(asked).toBe(before);
});

describe('a name that is an alias of nothing', () => {
  const url = 'https://dangling.example.com/';
  const unresolved = { reason: 'name' };

  test.each([
    ['of another name that has no address', 'gone.example.com'],
    ['of itself', 'dangling.example.com'],
  ])('%s is not resolved, and crashes nothing', async (_, alias) => {
    const names = await startDnsServer();
    closing.push(names.stop);
    names.set('dangling.example.com', { cname: alias });
    const outbound = createOutbound({ resolveName: createResolveName({ servers: parseServers(names.address) }) });
    await expect(outbound.post(url, message)).rejects.toMatchObject(unresolved);
    await expect(outbound.get(url)).rejects.toMatchObject(unresolved);
  });

  test('a name whose lookup finds nothing is not resolved either', async () => {
    const outbound = createOutbound({ resolveName: async () => [] });
    await expect(outbound.post(url, message)).rejects.toMatchObject(unresolved);
    const silent = createOutbound({ resolveName: () => Promise.reject(undefined) });
    await expect(silent.post(url, message)).rejects.toMatchObject(unresolved);
  });
});

describe('an operator’s list of hosts', () => {
  const listed = (text: string, url: string) => isListed(new URL(url).hostname, parseHosts(text));

  test.each([
    ['hooks.example.com', 'https://hooks.example.com/a'],
    ['hooks.example.com', 'https://HOOKS.example.com.:8443/a'],
    ['Hooks.Example.com.', 'https://hooks.example.com/'],
    ['bücher.example', 'https://xn--bcher-kva.example/'],
    ['other.example, *.example.com', 'https://a.b.example.com/'],
    ['203.0.113.7', 'https://203.0.113.7/'],
    ['203.0.113.7', 'https://0xcb.0x0.0x71.7/'],
    ['[2001:DB8::7]', 'https://[2001:db8:0::7]/'],
  ])('%s includes %s', (text, url) => expect(listed(text, url)).toBe(true));

  test.each([
    ['hooks.example.com', 'https://example.com/'],
    ['hooks.example.com', 'https://a.hooks.example.com/'],
    ['hooks.example.com', 'https://hooks.example.com@evil.example/'],
    ['hooks.example.com', 'https://hooks.example.com.evil.example/'],
    ['*.example.com', 'https://example.com/'],
    ['*.example.com', 'https://badexample.com/'],
    ['*.example.com', 'https://a.example.com.evil.example/'],
  ])('%s does not include %s', (text, url) => expect(listed(text, url)).toBe(false));

  test.each([
    ...['*', '*.', '**.example.com', 'a.*.example.com', '*.203.0.113.7', 'https://example.com', 'example.com/hooks'],
    ...['example.com:443', 'example.com:8443', 'ana@example.com', 'a b', '300.1.1.1', ',', 'a.example,,b.example'],
  ])('%s is no list of hosts', (text) => expect(() => parseHosts(text)).toThrow('must be hosts'));

  test('prevents queries and calls to others, however public, and allows the listed ones only at allowed addresses', async () => {
    const here = await receiver((_, response) => response.writeHead(204).end());
    let lookups = 0;
    const resolveName = async () => {
      lookups++;
      return [{ address: '127.0.0.1', family: 4 as const }];
    };
    const outbound = createOutbound({
      allowedNetworks: loopback,
      allowedHosts: parseHosts('hooks.example.com'),
      resolveName,
    });
    const url = (host: string) => `http://${host}:${here.port}/`;
    for (const host of ['other.example.com', '127.0.0.1', 'localhost']) {
      await expect(outbound.post(url(host), message)).rejects.toMatchObject({ reason: 'host' });
      await expect(outbound.get(url(host))).rejects.toMatchObject({ reason: 'host' });
    }
    expect([here.requests, lookups]).toEqual([[], 0]);
    expect(await outbound.post(url('hooks.example.com'), message)).toMatchObject({ status: 204 });
    expect(await outbound.get(url('hooks.example.com'))).toMatchObject({ status: 204 });
    const narrow = createOutbound({ allowedHosts: parseHosts('hooks.example.com'), resolveName });
    await expect(narrow.post('https://hooks.example.com/', message)).rejects.toMatchObject({ reason: 'address' });
  });
});

describe('a POST', () => {
  test('arrives byte by byte as it was given, on its own connection', async () => {
    const { port, requests } = await receiver((_, response) => response.writeHead(204).end());
    await open.post(`http://127.0.0.1:${port}/hooks?a=1`, message);
    await open.post(`http://localhost:${port}/hooks?a=1`, message);
    const arrived = { method: 'POST', url: '/hooks?a=1', body: message.body, connection: 'close' };
    expect(requests).toEqual([arrived, arrived]);
  });

  test('returns status and Retry-After, and nothing of what a non-public address answers', async () => {
    const { port } = await receiver((_, response) => response.writeHead(503, { 'retry-after': '120' }).end('secret'));
    const answer = await open.post(`http://127.0.0.1:${port}/`, message);
    expect(answer).toEqual({ status: 503, retryAfter: '120', excerpt: null });
  });

  test('returns nothing of an answer from a name with one public address, and another opened only by an operator', async () => {
    const { port } = await receiver((_, response) => response.end('secret'));
    const guard = createGuard({
      allowedNetworks: loopback,
      resolveName: isAt('127.0.0.1', '127.0.0.2'),
      isPublic: (address) => address === '127.0.0.2',
    });
    const answer = await post(guard, `http://mixed.example.com:${port}/`, message);
    expect(answer).toMatchObject({ status: 200, excerpt: null });
  });

  test.each<[string, () => string | Buffer, string]>([
    ['a short answer as a whole', () => 'no such tenant', 'no such tenant'],
    ['only the first KiB of a long answer', () => 'x'.repeat(5_000_000), 'x'.repeat(1024)],
    ['only whole characters of a long answer', () => `x${'€'.repeat(1000)}`, `x${'€'.repeat(341)}`],
    ['only text that PostgreSQL can store', () => Buffer.from([0x61, 0x00, 0xff, 0x62]), 'a\ufffd\ufffdb'],
    ['nothing of an empty answer', () => '', ''],
  ])('to a public address keeps %s', async (_name, body, excerpt) => {
    const { port } = await receiver((_, response) => response.writeHead(400).end(body()));
    expect(await impatient(`http://127.0.0.1:${port}/`, {}, () => true)).toMatchObject({ status: 400, excerpt });
  });

  test('has its status also if the rest of the answer never arrives', async () => {
    const { port } = await receiver((_, response) => response.writeHead(200).write('beg'));
    const answer = await impatient(`http://127.0.0.1:${port}/`, { excerptWithinMs: 500 }, () => true);
    expect(answer).toEqual({ status: 200, retryAfter: null, excerpt: 'beg' });
  });

  test('ends at its time limit, however slowly the receiver answers', async () => {
    const silent = createTcpServer((socket) => socket.on('error', () => {}));
    const dripping = createTcpServer((socket) => {
      socket.on('error', () => {});
      const drip = setInterval(() => socket.write('X-Wait: 1\r\n'), 10);
      socket.write('HTTP/1.1 200 OK\r\n');
      socket.on('close', () => clearInterval(drip));
    });
    for (const server of [silent, dripping]) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      closing.push(() => server.close());
      const { port } = server.address() as AddressInfo;
      await expect(impatient(`http://127.0.0.1:${port}/`, { answerWithinMs: 300 })).rejects.toMatchObject({
        reason: 'timeout',
      });
    }
  });

  test('ends at its time limit too, if the name server does not answer', async () => {
    const guard = createGuard({ allowedNetworks: [], resolveName: () => new Promise(() => {}) });
    const limits = { answerWithinMs: 200, excerptWithinMs: 200 };
    await expect(post(guard, 'https://a.example.com/', message, limits)).rejects.toMatchObject({ reason: 'timeout' });
  });

  test.each(['101 Switching Protocols', '200 OK'])(
    'ends even if the receiver switches protocols: %s',
    async (status) => {
      const changing = createTcpServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', () => socket.end(`HTTP/1.1 ${status}\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n`));
      });
      await new Promise<void>((resolve) => changing.listen(0, '127.0.0.1', resolve));
      closing.push(() => changing.close());
      const { port } = changing.address() as AddressInfo;
      const end = await impatient(`http://127.0.0.1:${port}/`, {}).catch((error) => error);
      expect(end).toMatchObject(status.startsWith('101') ? { reason: 'closed' } : { status: 200 });
    },
  );

  test('gives a word as the reason for no answer', async () => {
    await expect(open.post('http://127.0.0.1:1/', message)).rejects.toMatchObject({ reason: 'refused' });
    const rude = createTcpServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => rude.listen(0, '127.0.0.1', resolve));
    closing.push(() => rude.close());
    const { port } = rude.address() as AddressInfo;
    await expect(open.post(`http://127.0.0.1:${port}/`, message)).rejects.toMatchObject({ reason: 'closed' });
    const banner = 'SSH-2.0-OpenSSH_9.6\r\n';
    const posted = (url: string) => open.post(url, message);
    for (const [answer, call] of [
      [banner, posted],
      [banner, open.get],
      [`HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(100_000)}`, posted],
    ] as const) {
      const odd = createTcpServer((socket) => socket.on('error', () => {}).once('data', () => socket.end(answer)));
      await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve));
      closing.push(() => odd.close());
      const url = `http://127.0.0.1:${(odd.address() as AddressInfo).port}/`;
      await expect(call(url)).rejects.toMatchObject({ reason: 'malformed' });
    }
    const plain = await receiver((_, response) => response.end());
    await expect(open.post(`https://127.0.0.1:${plain.port}/`, message)).rejects.toMatchObject({ reason: 'tls' });
    const names = await startDnsServer();
    closing.push(names.stop);
    names.otherwise({ absent: 'nodata' });
    const nameless = createOutbound({ resolveName: createResolveName({ servers: parseServers(names.address) }) });
    await expect(nameless.post('https://nowhere.example.com/', message)).rejects.toMatchObject({ reason: 'name' });
  });
});
