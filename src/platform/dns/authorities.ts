import { Resolver } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import type { Server } from './exchange.js';

/** The authoritative servers of a zone. */
export interface Authorities {
  zone: string;
  servers: Server[];
}

export interface AuthoritiesDeps {
  /** The resolvers that name the authoritative servers, in the notation of node:dns. */
  resolvers?: readonly string[] | undefined;
  /** The port of name servers: 53, except in tests. */
  port: number;
  /** Whether a server's address may be asked: the zone's owner chooses it, so it could be a private one. */
  isAllowed(address: string): boolean;
}

/** The most servers that are asked. */
const maxServers = 4;

/** Finds the authoritative servers of a name. The resolvers are asked only for these, never for the name's records. */
export function createAuthorities({ resolvers, port, isAllowed }: AuthoritiesDeps) {
  const newResolver = () => {
    const resolver = new Resolver({ timeout: 1_500, tries: 2 });
    if (resolvers) resolver.setServers(resolvers);
    return resolver;
  };

  async function addressesOf(names: readonly string[], signal: AbortSignal): Promise<Server[]> {
    const resolver = newResolver();
    const found = await untilAborted(resolver, signal, () =>
      Promise.all(
        names.slice(0, maxServers).map(async (name) => {
          const [v4, v6] = await Promise.all([
            resolver.resolve4(name).catch(() => []),
            resolver.resolve6(name).catch(() => []),
          ]);
          return [...v4, ...v6];
        }),
      ),
    );
    const allowed = [...new Set(found.flat())].filter(isAllowed);
    const ordered = [...allowed.filter((one) => !isIPv6(one)), ...allowed.filter(isIPv6)]; // not every host has IPv6
    return ordered.slice(0, maxServers).map((address) => ({ address, port }));
  }

  return {
    /** Returns those of the nearest zone above the name. @throws when the resolvers know none, or do not answer */
    async of(name: string, signal: AbortSignal): Promise<Authorities> {
      const resolver = newResolver();
      for (let zone = parentOf(name); zone !== ''; zone = parentOf(zone)) {
        const names = await untilAborted(resolver, signal, () => resolver.resolveNs(zone)).catch((error) => {
          if (isNothing(error)) return []; // no zone begins there
          throw error;
        });
        if (names.length > 0) return { zone, servers: await addressesOf(names, signal) };
      }
      throw new Error('no zone is above the name');
    },

    /** Looks up the addresses of the servers that a referral names. */
    async named(zone: string, names: readonly string[], signal: AbortSignal): Promise<Authorities> {
      return { zone, servers: await addressesOf(names, signal) };
    },
  };
}

const parentOf = (name: string) => (name.includes('.') ? name.slice(name.indexOf('.') + 1) : '');
const isNothing = (error: unknown) => ['ENODATA', 'ENOTFOUND'].includes((error as { code?: string }).code ?? '');

async function untilAborted<T>(resolver: Resolver, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await work();
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
