import { Resolver } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import type { Server } from '../dns/exchange.js';

export interface FoundAddress {
  address: string;
  family: 4 | 6;
}
/** Returns all addresses of a host name, at least one. @throws if there is none, or no server answers */
export type ResolveName = (hostname: string) => Promise<FoundAddress[]>;

const loopback: FoundAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

const reasonOf = (settled: PromiseSettledResult<unknown>): unknown =>
  settled.status === 'rejected' ? settled.reason : undefined;

/**
 * The resolver's error for a name without addresses; for an alias that leads to none it gives an empty list instead.
 */
const noAddress = (hostname: string) =>
  Object.assign(new Error(`queryA ENODATA ${hostname}`), { code: 'ENODATA', syscall: 'queryA', hostname });

/**
 * Resolves names by DNS itself. The operating system's resolver shares four threads with argon2 and the file system,
 * and each name without an answer holds one of them for seconds. Only full names are resolved: the hosts file and
 * search domains do not apply, except that `localhost` is loopback (RFC 6761 §6.3).
 * @param servers the only servers that are asked; if empty, the operating system's
 */
export function createResolveName({ servers = [] }: { servers?: readonly Server[] } = {}): ResolveName {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  if (servers.length > 0)
    resolver.setServers(servers.map(({ address, port }) => `${isIPv6(address) ? `[${address}]` : address}:${port}`));
  return async (hostname) => {
    const name = hostname.replace(/\.$/, '').toLowerCase();
    if (name === 'localhost' || name.endsWith('.localhost')) return loopback;
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found: FoundAddress[] = [];
    if (v4.status === 'fulfilled') found.push(...v4.value.map((address) => ({ address, family: 4 as const })));
    if (v6.status === 'fulfilled') found.push(...v6.value.map((address) => ({ address, family: 6 as const })));
    if (found.length === 0) throw reasonOf(v4) ?? reasonOf(v6) ?? noAddress(hostname);
    return found;
  };
}
