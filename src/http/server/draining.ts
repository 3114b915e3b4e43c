import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyServerFactory } from 'fastify';

/** How long a client may take to begin a request on an open connection once we are closing. */
const unbegunMs = 500;
/** How long a request that is under way may delay the end. */
const unfinishedMs = 8_000;

export interface Draining {
  keepAliveMs: number;
  requestMs: number;
  /** How long a connection with a request may be silent: longer than any request waits for something to happen. */
  silentMs: number;
  /** Whether the process will end soon: then each answer closes its connection, so that none is idle when it does. */
  isStopping: () => boolean;
}

/**
 * Lets a closing server end as soon as the last request is answered. Node closes the connections that are idle at that
 * moment and waits for all others: also for those that become idle with their next answer, and for clients that have
 * opened one in advance, or never finish what they send.
 */
export function createDraining({ keepAliveMs, requestMs, silentMs, isStopping }: Draining) {
  const servers = new Map<Server, Set<Socket>>(); // one for each address that is listened on
  const serverFactory: FastifyServerFactory = (handler) => {
    const sockets = new Set<Socket>();
    // Node would answer a request without Host by a bare status; `refuseWithoutHost` does it properly.
    const own = { keepAliveTimeout: keepAliveMs, requestTimeout: requestMs, requireHostHeader: false };
    const server = createServer(own, handler);
    // Node would also answer 417, which is optional (RFC 9110 §10.1.1): expectations other than 100 are ignored.
    server.on('checkExpectation', handler);
    server.setTimeout(silentMs);
    server.maxHeadersCount = 0; // Node would drop headers after the 2000th; their total length is limited elsewhere
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    servers.set(server, sockets);
    return server;
  };

  function closeUnbegun() {
    for (const sockets of servers.values()) for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  }

  return {
    serverFactory,
    /** Makes `app.close()` wait for requests only, and not for ever. */
    drain(app: FastifyInstance): void {
      const timers: NodeJS.Timeout[] = [];
      app.addHook('onSend', (_request, reply, payload, done) => {
        if (isStopping()) reply.header('connection', 'close');
        done(null, payload);
      });
      app.addHook('preClose', async () => {
        const each = (close: (server: Server) => void) => () => [...servers.keys()].forEach(close);
        timers.push(
          setInterval(
            each((server) => server.closeIdleConnections()),
            50,
          ),
          setTimeout(closeUnbegun, unbegunMs),
          setTimeout(
            each((server) => server.closeAllConnections()),
            unfinishedMs,
          ),
        );
      });
      app.addHook('onClose', async () => timers.forEach(clearTimeout));
    },
  };
}
