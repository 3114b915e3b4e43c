import { createServer } from 'node:net';
import { listenForMetrics, reachableHost } from '../../src/platform/listening.js';
import { StartError } from '../../src/platform/start-error.js';

/** The error of a kernel without IPv6. */
const refused = () => Promise.reject(Object.assign(new Error('listen EAFNOSUPPORT'), { code: 'EAFNOSUPPORT' }));

test('“every address” means those of IPv4 on a machine without IPv6, and a named address stays that', async () => {
  expect(await reachableHost('::', refused)).toBe('0.0.0.0');
  expect(await reachableHost('::', async () => undefined)).toBe('::');
  expect(await reachableHost('10.0.0.5', refused)).toBe('10.0.0.5');
});

test('an error about metrics names their own setting; a port in use is reported as such', async () => {
  const [first, second] = [createServer(), createServer()];
  await listenForMetrics(first, 0, '127.0.0.1');
  const { port } = first.address() as { port: number };
  await expect(listenForMetrics(second, port, '127.0.0.1')).rejects.toMatchObject({ code: 'EADDRINUSE' });
  const elsewhere = listenForMetrics(createServer(), 0, '192.0.2.1'); // an unused address (RFC 5737)
  await expect(elsewhere).rejects.toThrow(StartError);
  await expect(elsewhere).rejects.toThrow('METRICS_PORT');
  await new Promise((resolve) => first.close(resolve));
});
