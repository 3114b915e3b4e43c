import { isIP } from 'node:net';
import { type Reading, readAnswer, type TxtAnswer } from './dns/answers.js';
import { createAuthorities } from './dns/authorities.js';
import { askServer, type Server } from './dns/exchange.js';
import { isCallable } from './outbound/addresses.js';

export interface DnsOptions {
  /** The only servers that are asked; if empty, the servers that the zone itself names. */
  servers: readonly Server[];
  /** For tests: these replace the system's resolvers, and the port and the networks at which name servers are asked. */
  resolvers?: readonly string[];
  authorityPort?: number;
  allowedNetworks?: readonly string[];
  /** The time limit of a whole look-up. */
  withinMs?: number;
}

export interface Dns {
  /**
   * Returns the TXT records of a name, the strings of each joined, as its authoritative servers have them now, with no
   * resolver's cache in between. Follows aliases. It never throws.
   */
  txt(name: string): Promise<TxtAnswer>;
}

/** The time limit for one server, before the next is tried. */
const tryMs = 1_500;
/** How often a look-up may continue elsewhere: at an alias, or at a delegated zone. */
const maxSteps = 8;
const broken = { kind: 'broken' } as const;

/** Creates look-ups that ask name servers themselves, and follow aliases and delegations for a limited time. */
export function createDns({
  servers,
  resolvers,
  authorityPort = 53,
  allowedNetworks = [],
  withinMs = 6_000,
}: DnsOptions): Dns {
  const isAllowed = (address: string) => isCallable(address, allowedNetworks);
  const authorities = createAuthorities({ resolvers, port: authorityPort, isAllowed });

  /** Asks the servers one after the other, twice, until one gives a usable answer. */
  async function askAny(asked: readonly Server[], name: string, zone: string | null, endsAt: number) {
    for (const server of [...asked, ...asked]) {
      const leftMs = Math.ceil(endsAt - performance.now());
      if (leftMs <= 0) break;
      const inTime = AbortSignal.timeout(Math.min(tryMs, leftMs));
      const question = { name, type: 'TXT', recursive: zone === null } as const;
      const reading = await askServer(server, question, inTime).then(
        (answer) => readAnswer(answer, name, zone),
        () => broken,
      );
      if (reading.kind !== 'broken') return reading;
    }
    return broken;
  }

  async function look(name: string): Promise<TxtAnswer> {
    const endsAt = performance.now() + withinMs;
    const signal = AbortSignal.timeout(withinMs);
    let current = name;
    let asked = servers.length > 0 ? null : await authorities.of(current, signal);
    for (let step = 0; step < maxSteps; step++) {
      const reading: Reading = await askAny(asked?.servers ?? servers, current, asked?.zone ?? null, endsAt);
      if (reading.kind === 'alias') {
        current = reading.target;
        asked = asked && (await authorities.of(current, signal));
      } else if (reading.kind === 'referral') {
        asked = await authorities.named(reading.zone, reading.servers, signal);
      } else {
        return reading;
      }
    }
    return broken;
  }

  return { txt: (name) => look(name).catch(() => broken) };
}

/**
 * Parses a setting's list of servers: `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1`, `[2001:db8::1]:5353`.
 * @throws Error that says what is wrong
 */
export function parseServers(text: string): Server[] {
  return text.split(',').map((part) => {
    const [, bracketed, plain, port = '53'] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(part.trim()) ?? [];
    const address = isIP(part.trim()) ? part.trim() : (bracketed ?? plain ?? '');
    const number = isIP(part.trim()) ? 53 : Number(port);
    if (!isIP(address) || number < 1 || number > 65_535) throw new Error('must be addresses such as 192.0.2.1:53');
    return { address, port: number };
  });
}
