import { lookup as resolve } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Agent } from 'undici';
import { seconds } from '../clock.js';
import { isCallable } from './addresses.js';

/** Why nothing was read; the text names no address, since it may be shown to whoever gave the URL. */
export class OutboundError extends Error {
  constructor(
    readonly reason: 'address' | 'scheme' | 'size' | 'timeout' | 'unreachable',
    cause?: unknown,
  ) {
    super(`outbound request refused or failed: ${reason}`, { cause });
  }
}

export interface OutboundAnswer {
  status: number;
  body: Buffer;
}

export interface Outbound {
  /** @throws OutboundError */
  get(url: string, headers?: Record<string, string>): Promise<OutboundAnswer>;
  close(): Promise<void>;
}

const timeLimit = seconds(5);
const sizeLimit = 64 * 1024;

/**
 * Calls to URLs that tenants give (contract §7): https only, public addresses only, no redirects, little and quickly. The
 * address that was checked is the one that is connected to, so a name cannot change its mind in between.
 * @param allowedNetworks what an operator allows besides, also over plain http: loopback in development.
 */
export function createOutbound({ allowedNetworks = [] }: { allowedNetworks?: readonly string[] } = {}): Outbound {
  let opened: Promise<Agent> | undefined;
  const open = () => {
    opened ??= openAgent(allowedNetworks);
    return opened;
  };

  return {
    async get(url, headers = {}) {
      const { protocol, hostname } = new URL(url);
      const literal = hostname.replace(/^\[|\]$/g, '');
      // A literal address is connected to without a look-up.
      if (isIP(literal) && !isCallable(literal, allowedNetworks)) throw new OutboundError('address');
      if (protocol !== 'https:' && !(protocol === 'http:' && allowedNetworks.length > 0))
        throw new OutboundError('scheme');
      try {
        const { request } = await import('undici');
        const { statusCode, body } = await request(url, {
          dispatcher: await open(),
          headers,
          signal: AbortSignal.timeout(timeLimit),
        });
        return { status: statusCode, body: await limited(body) };
      } catch (error) {
        throw asOutboundError(error);
      }
    },
    close: async () => (await opened)?.close(),
  };
}

/** Not before the first call: the library's 20 MB and 100 ms are for processes that call somebody. */
async function openAgent(allowedNetworks: readonly string[]): Promise<Agent> {
  const { Agent } = await import('undici');
  return new Agent({
    connect: {
      timeout: timeLimit,
      lookup(hostname, _options, callback) {
        callableAddresses(hostname, allowedNetworks).then(
          (addresses) => callback(null, addresses),
          (error) => callback(error, []),
        );
      },
    },
    headersTimeout: timeLimit,
    bodyTimeout: timeLimit,
  });
}

async function callableAddresses(hostname: string, allowed: readonly string[]) {
  const addresses = await resolve(hostname, { all: true, verbatim: true });
  // One bad address among good ones is a trick: refuse them all.
  if (!addresses.every(({ address }) => isCallable(address, allowed))) throw new OutboundError('address');
  return addresses;
}

async function limited(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > sizeLimit) throw new OutboundError('size');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function asOutboundError(error: unknown): OutboundError {
  if (error instanceof OutboundError) return error;
  const cause = (error as Error).cause;
  if (cause instanceof OutboundError) return cause;
  return new OutboundError((error as Error).name === 'TimeoutError' ? 'timeout' : 'unreachable', error);
}
