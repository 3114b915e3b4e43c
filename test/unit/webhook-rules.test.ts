import { DomainError } from '../../src/domain/errors.js';
import { assertReceiver } from '../../src/domain/webhooks/rules.js';
import { createGuard } from '../../src/platform/outbound/guard.js';
import { parseHosts } from '../../src/platform/outbound/hosts.js';

const resolveName = () => Promise.reject(new Error('nothing is looked up'));
const guardFor = (...allowedNetworks: string[]) => createGuard({ allowedNetworks, resolveName });

const because = (work: () => void): string | null => {
  try {
    work();
    return null;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const [detail] = error.options.details ?? [];
    return `${detail?.field} ${detail?.code}`;
  }
};
const refusalOf = (url: string, ...allowed: string[]): string | null =>
  because(() => assertReceiver(url, guardFor(...allowed)));

test.each([
  ['http://receiver.example/', 'url scheme'],
  ['ftp://receiver.example/', 'url scheme'],
  ['javascript:alert(1)', 'url scheme'],
  ['receiver.example', 'url url'],
  ['https://ana:secret@receiver.example/', 'url credentials'],
  ['https://receiver.example/#part', 'url fragment'],
  ['https://10.0.0.1/', 'url address'],
  ['https://169.254.169.254/latest', 'url address'],
  ['https://[::ffff:127.0.0.1]/', 'url address'],
  ['https://2130706433/', 'url address'],
  ['https://0x7f.1/', 'url address'],
])('a receiver at %s is refused', (url, because) => {
  expect(refusalOf(url)).toBe(because);
});

test('https at a public address or a name is accepted, and plain http if the operator allows a network', () => {
  expect(refusalOf('https://receiver.example:8443/hook?from=us')).toBeNull();
  expect(refusalOf('https://8.8.8.8/')).toBeNull();
  expect(refusalOf('http://10.1.2.3:8080/hook', '10.0.0.0/8')).toBeNull();
  expect(refusalOf('http://10.1.2.3:8080/hook', '192.168.0.0/16')).toBe('url address');
});

test('with an operator’s list of hosts no other receiver is accepted', () => {
  const guard = createGuard({ allowedNetworks: [], allowedHosts: parseHosts('*.receiver.example'), resolveName });
  expect(() => assertReceiver('https://eu.receiver.example/hook', guard)).not.toThrow();
  expect(because(() => assertReceiver('https://receiver.example/hook', guard))).toBe('url host');
});
