import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyServerFactory } from 'fastify';

/** How long a client may take to begin a request on a connection that it has opened already, once we are closing. */
const unbegunMs = 500;
/** How long a request that is being sent or answered may hold up the end. */
const unfinishedMs = 8_000;

export interface Draining {
  keepAliveMs: number;
  requestMs: number;
  /** How long nothing may be sent or taken on a connection that a request is on: longer than any of them waits for something to happen. */
  silentMs: number;
  /** Whether it will end soon: each answer is the last one of its connection then, so that none is idle when it does. */
  isStopping: () => boolean;
}

/**
 * Lets a closing server end as soon as the last request is answered. Node closes the connections that are idle at that
 * moment and waits for all others: also for those that turn idle with their next answer, and for clients that opened one
 * ahead of need or never finish what they send.
 */
export function createDraining({ keepAliveMs, requestMs, silentMs, isStopping }: Draining) {
  const servers = new Map<Server, Set<Socket>>(); // one for each address that is listened on
  const serverFactory: FastifyServerFactory = (handler) => {
    const sockets = new Set<Socket>();
    // Node would answer a request without Host by itself, with nothing but a status: `refuseWithoutHost` does.
    const own = { keepAliveTimeout: keepAliveMs, requestTimeout: requestMs, requireHostHeader: false };
    const server = createServer(own, handler);
    // Nor with 417, which it need not be (RFC 9110 §10.1.1): what else is expected than a 100 is not looked at.
    server.on('checkExpectation', handler);
    server.setTimeout(silentMs);
    server.maxHeadersCount = 0; // Node would drop those behind the 2000th; how long they may be in all is bounded
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
