import { createServer, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { days } from '../../../src/platform/clock.js';
import { newSelfSigned } from '../../../src/platform/crypto/self-signed.js';
import { loopback } from '../../../src/platform/outbound/addresses.js';
import type { Outbound } from '../../../src/platform/outbound/fetch.js';
import { createGuard } from '../../../src/platform/outbound/guard.js';
import { createResolveName } from '../../../src/platform/outbound/names.js';
import { post } from '../../../src/platform/outbound/post.js';
import { startDnsServer } from '../dns-server.js';
import { type Received, startReceiver } from '../webhooks.js';
import { accepting, type Behavior, failing, lateAnswer } from './behaviors.js';

/** Where the events of a subscription go. */
export interface Target {
  url: string;
  path: string;
  /** Whether attempts show the beginning of the answer. */
  isPublic: boolean;
  /** Why no call can reach it. */
  fault: Behavior | null;
}

/** An address of loopback that stands for a public one. */
const publicAddress = '127.0.0.2';
const silentAfterMs = 400;

/** Starts receivers on loopback that behave as the test says, one for each path, and some that nobody reaches. */
export async function startReceivers() {
  const behaviors = new Map<string, Behavior>();
  const silent = new Set<string>(); // paths
  const waiting = new Map<string, ServerResponse[]>();
  const open = new Map<string, number>();
  const most = { calls: 0 };
  const received: Received[] = [];
  function take(message: Received, _before: number, response: ServerResponse) {
    const { path } = message;
    received.push(message);
    const calls = (open.get(path) ?? 0) + 1;
    open.set(path, calls);
    most.calls = Math.max(most.calls, calls);
    response.socket?.once('close', () => open.set(path, (open.get(path) ?? 0) - 1));
    const behavior = behaviors.get(path) ?? (accepting[0] as Behavior);
    if (behavior.isLate) waiting.set(path, [...(waiting.get(path) ?? []), response]);
    else behavior.answer(response);
  }
  const [near, far] = [await startReceiver(take), await startReceiver(take, publicAddress)];
  const untrusted = await startUntrusted();
  const refusing = await closedPort();
  const dns = await startDnsServer();
  dns.set('inside.example', { a: ['10.0.0.7'] });
  dns.set('both.example', { a: ['93.184.215.14', '169.254.169.254'] });
  dns.set('outside.example', { a: ['93.184.215.14'] });
  const guard = createGuard({
    allowedNetworks: loopback,
    resolveName: createResolveName({ servers: [dns.server] }),
    isPublic: (address) => address === publicAddress,
  });
  const outbound: Pick<Outbound, 'post'> = {
    post(url, message) {
      const answerWithinMs = silent.has(new URL(url).pathname) ? silentAfterMs : 15_000;
      return post(guard, url, message, { answerWithinMs, excerptWithinMs: 200 });
    },
  };
  const unreachable: readonly [error: string, urlOf: (path: string) => string][] = [
    ['tls', (path) => `https://127.0.0.1:${untrusted.port}${path}`],
    ['refused', (path) => `http://127.0.0.1:${refusing}${path}`],
    ['name', (path) => `https://nowhere.example${path}`],
    ['address', (path) => `https://inside.example${path}`],
    ['address', (path) => `https://both.example${path}`],
    ['scheme', (path) => `http://outside.example${path}`],
  ];
  let paths = 0;
  return {
    outbound,
    most,
    trap: near.url('/trap'),
    unreachable: unreachable.length,
    /** Returns a new target. @param kind of those that cannot be reached; undefined: it answers */
    newTarget(isPublic: boolean, kind?: number): Target {
      const path = `/${++paths}`;
      const [error, urlOf] = (kind === undefined ? undefined : unreachable[kind]) ?? [];
      if (urlOf) return { path, url: urlOf(path), isPublic: false, fault: failing(error as string, 'unreachable') };
      return { path, url: (isPublic ? far : near).url(path), isPublic, fault: null };
    },
    behave({ path }: Target, behavior: Behavior) {
      behaviors.set(path, behavior);
      if (behavior.isSilent) silent.add(path);
      else silent.delete(path);
    },
    behaviorOf: ({ path, fault }: Target): Behavior => fault ?? behaviors.get(path) ?? (accepting[0] as Behavior),
    /** Whether a call is waiting for its answer. */
    isWaiting: ({ path }: Target) => (waiting.get(path) ?? []).length > 0,
    /** Answers the calls that wait. */
    answer({ path }: Target, status: number): Behavior {
      const behavior = lateAnswer(status);
      for (const response of waiting.get(path) ?? []) behavior.answer(response);
      waiting.delete(path);
      return behavior;
    },
    /** Returns the messages since the last time. */
    news: (): Received[] => received.splice(0),
    async stop(): Promise<void> {
      await Promise.all([near.stop(), far.stop(), untrusted.stop(), dns.stop()]);
    },
  };
}

export type Receivers = Awaited<ReturnType<typeof startReceivers>>;

/** Starts a receiver with a certificate that nobody trusts. */
async function startUntrusted() {
  const [from, until] = [new Date(Date.now() - days(1)), new Date(Date.now() + days(1))];
  const { privateKey: key, certificate: cert } = await newSelfSigned('127.0.0.1', { from, until, bits: 2048 });
  const server = createTlsServer({ key, cert }, (_request, response) => response.writeHead(200).end());
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** Returns a port on which nothing listens any more. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
