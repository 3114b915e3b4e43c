import type { Agent } from 'undici';
import { seconds } from '../clock.js';
import { asOutboundError, OutboundError } from './errors.js';
import { createGuard, type Guard } from './guard.js';
import type { HostList } from './hosts.js';
import { createResolveName, type ResolveName } from './names.js';
import { type OutboundPost, type PostAnswer, post } from './post.js';

export interface OutboundAnswer {
  status: number;
  body: Buffer;
}

export interface OutboundRequest {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  /** The most bytes of the answer that are read; by default the usual limit. */
  atMost?: number;
}

export interface Outbound {
  /** Sends a request with the limits of `get`, unless `atMost` sets another. @throws OutboundError */
  ask(url: string, request: OutboundRequest): Promise<OutboundAnswer & { headers: Record<string, string> }>;
  /** Reads at most 64 KiB within five seconds. @throws OutboundError */
  get(url: string, headers?: Record<string, string>): Promise<OutboundAnswer>;
  /** @throws OutboundError */
  post(url: string, message: OutboundPost): Promise<PostAnswer>;
  close(): Promise<void>;
}

export interface OutboundOptions {
  /** What an operator allows besides public addresses, and alone may use plain http: loopback in development. */
  allowedNetworks?: readonly string[];
  /** The only hosts that may be called; null: any. */
  allowedHosts?: HostList | null;
  resolveName?: ResolveName;
  /** The time limit in milliseconds of a request with its whole answer. */
  withinMs?: number;
}

const sizeLimit = 64 * 1024;

/** Calls URLs that tenants give (contract §7), through one guard. It follows no redirects. */
export function createOutbound({
  allowedNetworks = [],
  allowedHosts = null,
  resolveName = createResolveName(),
  withinMs = seconds(5),
}: OutboundOptions = {}): Outbound {
  const guard = createGuard({ allowedNetworks, allowedHosts, resolveName });
  let opened: Promise<Agent> | undefined;
  const open = () => {
    opened ??= openAgent(guard, withinMs);
    return opened;
  };

  const ask: Outbound['ask'] = async (url, { method, headers, body: sent, atMost = sizeLimit }) => {
    guard.enter(url);
    try {
      const { request } = await import('undici');
      const answer = await request(url, {
        dispatcher: await open(),
        method,
        headers,
        body: sent ?? null,
        signal: AbortSignal.timeout(withinMs),
      });
      return { status: answer.statusCode, headers: single(answer.headers), body: await limited(answer.body, atMost) };
    } catch (error) {
      throw asOutboundError(error);
    }
  };

  return {
    ask,
    async get(url, headers = {}) {
      const { status, body } = await ask(url, { method: 'GET', headers });
      return { status, body };
    },
    post: (url, message) => post(guard, url, message),
    close: async () => (await opened)?.close(),
  };
}

/** Loads the library at the first call: only processes that make one pay its 20 MB and 100 ms. */
async function openAgent(guard: Guard, withinMs: number): Promise<Agent> {
  const { Agent, buildConnector } = await import('undici');
  const by = (protocol: string) => buildConnector({ timeout: withinMs, lookup: guard.lookup(protocol) });
  const [plain, encrypted] = [by('http:'), by('https:')];
  return new Agent({
    connect: (options, callback) => (options.protocol === 'https:' ? encrypted : plain)(options, callback),
    headersTimeout: withinMs,
    bodyTimeout: withinMs,
  });
}

async function limited(body: AsyncIterable<Buffer>, atMost: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > atMost) throw new OutboundError('size');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const single = (headers: Record<string, string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value = '']) => [name, [value].flat().join(', ')]));
