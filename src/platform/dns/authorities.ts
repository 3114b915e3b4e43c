import { Resolver } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import type { Server } from './exchange.js';

/** The servers that are responsible for a zone. */
export interface Authorities {
  zone: string;
  servers: Server[];
}

export interface AuthoritiesDeps {
  /** Resolvers of the system that say who is responsible, in the notation of node:dns. */
  resolvers?: readonly string[] | undefined;
  /** Where name servers listen: 53, but for tests. */
  port: number;
  /** The zone says where its servers are: so not every address may be asked. */
  isAllowed(address: string): boolean;
}

/** More servers than that are not asked. */
const mostServers = 4;

/** Who is responsible for a name. Only that is asked of the system's resolvers; what is at the name, of the zone itself. */
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
        names.slice(0, mostServers).map(async (name) => {
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
    return ordered.slice(0, mostServers).map((address) => ({ address, port }));
  }

  return {
    /** Of the nearest zone above the name. @throws when the resolvers do not know, or do not answer */
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

    /** Of servers that a referral names. */
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
