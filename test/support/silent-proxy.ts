import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface SilentProxy {
  /** The same URL by way of the proxy. */
  urlOf(url: string): string;
  /** From now on nothing passes, of connections that are there and of new ones, and nobody is told. */
  fallSilent(): void;
  /** What is sent with `text` in it arrives, and nothing comes back any more on its connection. */
  swallowAnswersTo(text: string): void;
  /** New connections pass again. Those that were silenced stay so, as those to a machine that is gone. */
  speak(): void;
  /** How many connections the caller's side holds open. */
  open(): number;
  close(): Promise<void>;
}

/** Stands between a program and what it is connected to, and can keep what passes to itself: a halted or vanished machine. */
export async function startSilentProxy(target: string): Promise<SilentProxy> {
  const { hostname, port } = new URL(target);
  const callers = new Set<Socket>();
  const silenced = new WeakSet<Socket>();
  let isSilent = false;
  let swallowed: string | undefined;
  const server = createServer((caller) => {
    callers.add(caller);
    if (isSilent) silenced.add(caller);
    const behind = connect(Number(port), hostname);
    caller.on('data', (bytes) => {
      if (silenced.has(caller)) return;
      behind.write(bytes);
      if (swallowed !== undefined && bytes.includes(swallowed)) silenced.add(caller);
    });
    behind.on('data', (bytes) => silenced.has(caller) || caller.write(bytes));
    for (const [side, other] of [
      [caller, behind],
      [behind, caller],
    ] as const) {
      side.on('error', () => undefined); // 'close' follows
      side.on('close', () => other.destroy());
    }
    caller.on('close', () => callers.delete(caller));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const at = (server.address() as AddressInfo).port;
  return {
    urlOf(url) {
      const proxied = new URL(url);
      proxied.hostname = '127.0.0.1';
      proxied.port = String(at);
      return proxied.href;
    },
    fallSilent() {
      isSilent = true;
      for (const caller of callers) silenced.add(caller);
    },
    swallowAnswersTo(text) {
      swallowed = text;
    },
    speak() {
      isSilent = false;
      swallowed = undefined;
    },
    open: () => callers.size,
    async close() {
      for (const caller of callers) caller.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
