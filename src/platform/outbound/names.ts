import { Resolver } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { seconds } from '../clock.js';
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

const written = ({ address, port }: Server) => `${isIPv6(address) ? `[${address}]` : address}:${port}`;

const reasonOf = (settled: PromiseSettledResult<unknown> | undefined): unknown =>
  settled?.status === 'rejected' ? settled.reason : undefined;

/**
 * The resolver's error for a name without addresses; for an alias that leads to none it gives an empty list instead.
 */
const noAddress = (hostname: string) =>
  Object.assign(new Error(`queryA ENODATA ${hostname}`), { code: 'ENODATA', syscall: 'queryA', hostname });

export interface ResolveNameOptions {
  /** The only servers that are asked; if empty, the operating system's. */
  servers?: readonly Server[];
  /** For tests: these replace the operating system's. */
  systemServers?: () => readonly Server[];
  /** Milliseconds that a server may take, before the question is repeated. */
  answerWithinMs?: number;
  /** Milliseconds after which the operating system's servers are read again. */
  renewAfterMs?: number;
}

/**
 * Milliseconds to wait for addresses of the other kind once those of one are there (RFC 8305 §3 waits for less): some
 * resolvers never answer questions for IPv6 addresses.
 */
const otherKindWithinMs = 500;

/**
 * Resolves names by DNS itself. The operating system's resolver shares four threads with argon2 and the file system,
 * and each name without an answer holds one of them for seconds. Only full names are resolved: the hosts file and
 * search domains do not apply, except that `localhost` is loopback (RFC 6761 §6.3).
 *
 * A resolver reads the operating system's servers only when it is created, and they change with the network. It is kept
 * for a while all the same, and for good if its servers are settings, since it remembers which of several does not answer.
 */
export function createResolveName({
  servers = [],
  systemServers,
  answerWithinMs = 2_000,
  renewAfterMs = seconds(30),
}: ResolveNameOptions = {}): ResolveName {
  const open = () => {
    const resolver = new Resolver({ timeout: answerWithinMs, tries: 2 });
    const asked = servers.length > 0 ? servers : systemServers?.();
    if (asked) resolver.setServers(asked.map(written));
    return { resolver, openedAt: performance.now() };
  };
  let current = open();

  return async (hostname) => {
    const name = hostname.replace(/\.$/, '').toLowerCase();
    if (name === 'localhost' || name.endsWith('.localhost')) return loopback;
    const found: FoundAddress[] = [];
    const keep = (family: 4 | 6) => (addresses: string[]) => {
      found.push(...addresses.map((address) => ({ address, family })));
    };
    if (servers.length === 0 && performance.now() - current.openedAt >= renewAfterMs) current = open();
    const { resolver } = current;
    const questions = [resolver.resolve4(hostname).then(keep(4)), resolver.resolve6(hostname).then(keep(6))];
    const both = Promise.allSettled(questions);
    await Promise.any(questions).catch(() => undefined);
    if (found.length > 0) {
      await Promise.race([both, sleep(otherKindWithinMs, undefined, { ref: false })]);
      return found.toSorted((one, other) => one.family - other.family);
    }
    const [v4, v6] = await both;
    if (found.length === 0) throw reasonOf(v4) ?? reasonOf(v6) ?? noAddress(hostname);
    return found;
  };
}
