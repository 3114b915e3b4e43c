import type { Agent } from 'undici';
import { seconds } from '../clock.js';
import { asOutboundError, OutboundError } from './errors.js';
import { createGuard, type Guard } from './guard.js';
import { createResolveName, type ResolveName } from './names.js';
import { type OutboundPost, type PostAnswer, post } from './post.js';

export interface OutboundAnswer {
  status: number;
  body: Buffer;
}

export interface Outbound {
  /** Little and quickly: 64 KiB within five seconds. @throws OutboundError */
  get(url: string, headers?: Record<string, string>): Promise<OutboundAnswer>;
  /** @throws OutboundError */
  post(url: string, message: OutboundPost): Promise<PostAnswer>;
  close(): Promise<void>;
}

export interface OutboundOptions {
  /** What an operator allows besides public addresses, also over plain http: loopback in development. */
  allowedNetworks?: readonly string[];
  resolveName?: ResolveName;
}

const timeLimit = seconds(5);
const sizeLimit = 64 * 1024;

/** Calls to URLs that tenants give (contract §7), through one guard. No redirect is followed. */
export function createOutbound({
  allowedNetworks = [],
  resolveName = createResolveName(),
}: OutboundOptions = {}): Outbound {
  const guard = createGuard({ allowedNetworks, resolveName });
  let opened: Promise<Agent> | undefined;
  const open = () => {
    opened ??= openAgent(guard);
    return opened;
  };

  return {
    async get(url, headers = {}) {
      guard.enter(url);
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
    post: (url, message) => post(guard, url, message),
    close: async () => (await opened)?.close(),
  };
}

/** Not before the first call: the library's 20 MB and 100 ms are for processes that call somebody. */
async function openAgent(guard: Guard): Promise<Agent> {
  const { Agent } = await import('undici');
  return new Agent({
    connect: { timeout: timeLimit, lookup: guard.lookup() },
    headersTimeout: timeLimit,
    bodyTimeout: timeLimit,
  });
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
