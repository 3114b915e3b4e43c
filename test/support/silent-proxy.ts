import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface SilentProxy {
  /** Returns the same URL through the proxy. */
  urlOf(url: string): string;
  /** Passes nothing from now on, on open and new connections, without an error to either side. */
  fallSilent(): void;
  /** Passes on data that contains `text`, and then nothing back on that connection. */
  swallowAnswersTo(text: string): void;
  /** Lets new connections pass again. Silenced ones stay silent, like connections to a vanished machine. */
  speak(): void;
  /** Returns how many connections the caller's side holds open. */
  open(): number;
  close(): Promise<void>;
}

/** Proxies a program's connections, and can withhold what passes, like a halted or vanished machine. */
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
