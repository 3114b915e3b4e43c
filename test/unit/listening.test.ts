import { createServer } from 'node:net';
import { listenForMetrics, reachableHost } from '../../src/platform/listening.js';
import { StartError } from '../../src/platform/start-error.js';

/** What a kernel without IPv6 says. */
const refused = () => Promise.reject(Object.assign(new Error('listen EAFNOSUPPORT'), { code: 'EAFNOSUPPORT' }));

test('every address is those of IPv4 on a machine without IPv6, and what was asked for by name stays', async () => {
  expect(await reachableHost('::', refused)).toBe('0.0.0.0');
  expect(await reachableHost('::', async () => undefined)).toBe('::');
  expect(await reachableHost('10.0.0.5', refused)).toBe('10.0.0.5');
});

test('where metrics cannot be listened on, their own setting is named; a port in use stays that', async () => {
  const [first, second] = [createServer(), createServer()];
  await listenForMetrics(first, 0, '127.0.0.1');
  const { port } = first.address() as { port: number };
  await expect(listenForMetrics(second, port, '127.0.0.1')).rejects.toMatchObject({ code: 'EADDRINUSE' });
  const elsewhere = listenForMetrics(createServer(), 0, '192.0.2.1'); // an address of nobody's (RFC 5737)
  await expect(elsewhere).rejects.toThrow(StartError);
  await expect(elsewhere).rejects.toThrow('METRICS_PORT');
  await new Promise((resolve) => first.close(resolve));
});
