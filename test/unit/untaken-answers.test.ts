import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import Fastify, { type FastifyInstance } from 'fastify';
import { createFairQueue } from '../../src/domain/limits/fair-queue.js';
import { createDraining } from '../../src/http/server/draining.js';
import { whileSent } from '../../src/http/server/while-sent.js';

/** Answers that their readers do not read: what is kept for a reader, and for how long. */

const opened: { app: FastifyInstance; sockets: Socket[] } = { app: Fastify(), sockets: [] };
afterEach(async () => {
  for (const socket of opened.sockets.splice(0)) socket.destroy();
  await opened.app.close();
});

/** More than sockets hold, in pieces that come as they are read. */
const endless = () => Readable.from(Array.from({ length: 2000 }, () => 'x'.repeat(64 * 1024)));

async function serve(silentMs: number, queue = createFairQueue(1, { withinMs: 100 })) {
  const { serverFactory } = createDraining({ keepAliveMs: 1000, requestMs: 1000, silentMs, isStopping: () => false });
  const app = Fastify({ serverFactory });
  app.get('/', (_, reply) => whileSent(queue, 'account', reply, async () => endless()));
  await app.listen({ host: '127.0.0.1', port: 0 });
  opened.app = app;
  return { port: (app.server.address() as AddressInfo).port, queue };
}

/** Sends a request, and reads the first piece only. */
async function ask(port: number): Promise<{ socket: Socket; said: string }> {
  const socket = connect(port, '127.0.0.1');
  opened.sockets.push(socket);
  socket.on('error', () => undefined); // it is cut off
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  const [piece] = await once(socket, 'data');
  socket.pause();
  return { socket, said: String(piece).slice(0, 12) };
}

async function until(isSo: () => boolean) {
  for (const end = Date.now() + 10_000; !isSo(); await sleep(10)) if (Date.now() > end) throw new Error('it is not so');
}

test('a turn lasts until the answer is read, or its reader has disconnected', async () => {
  const { port, queue } = await serve(60_000);
  const first = await ask(port);
  expect([first.said, queue.load().running]).toEqual(['HTTP/1.1 200', 1]);
  expect((await ask(port)).said).toBe('HTTP/1.1 500'); // `service.unavailable`, for which this app has no message
  first.socket.destroy();
  await until(() => queue.load().running === 0);
  const second = await ask(port);
  expect([second.said, queue.load().running]).toEqual(['HTTP/1.1 200', 1]);
  second.socket.resume();
  await until(() => queue.load().running === 0);
});

test('a reader who reads nothing for long is cut off; a slow one is not', async () => {
  const { port, queue } = await serve(300, createFairQueue(2));
  const [still, slow] = [await ask(port), await ask(port)];
  let taken = 0;
  slow.socket.on('data', (piece) => {
    taken += piece.length;
    slow.socket.pause();
    setTimeout(() => slow.socket.resume(), 5);
  });
  slow.socket.resume();
  await until(() => queue.load().running === 1);
  expect(still.socket.readableEnded).toBe(false);
  const before = taken;
  await sleep(600);
  expect([taken > before, queue.load().running]).toEqual([true, 1]);
});
