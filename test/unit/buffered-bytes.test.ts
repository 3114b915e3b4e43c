import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { sendError } from '../../src/http/errors.js';
import { limitBufferedBytes } from '../../src/http/server/buffered-bytes.js';
import { until } from '../support/until.js';

const mebibyte = 1024 * 1024;

let app: FastifyInstance;
let sockets: Socket[];
beforeEach(async () => {
  sockets = [];
  app = Fastify({ bodyLimit: 100 * mebibyte, forceCloseConnections: true });
  app.setErrorHandler(sendError);
  limitBufferedBytes(app, 40 * mebibyte);
  app.get('/large', async () => 'x'.repeat(30 * mebibyte));
  app.get('/awaited', async ({ raw }) => {
    await once(raw.socket, 'close');
    return 'x'.repeat(50 * mebibyte);
  });
  app.get('/small', async () => 'ok');
  app.get('/probe', { config: { neverShed: true } }, async () => 'ok');
  app.post('/', async ({ body }) => String((body as { x: string }).x.length));
  const onRequest = (_request: unknown, reply: FastifyReply, done: () => void) => {
    setTimeout(() => reply.send('late'), 100);
    done();
  };
  app.post('/late', { onRequest }, async () => 'never');
  await app.listen({ host: '0.0.0.0', port: 0 });
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await app.close();
});

/** Begins a request from an address of this machine, and does not read its answer. */
function begin(request: string, localAddress = '127.0.0.1'): Socket {
  const { port } = app.server.address() as { port: number };
  const socket = connect({ host: '127.0.0.1', port, localAddress });
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(`${request}\r\n`);
  sockets.push(socket);
  return socket;
}
const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n`;
const statusOf = async (path: string, localAddress?: string): Promise<string> =>
  (await text(begin(get(path), localAddress))).slice(9, 12);

test('an address whose answers nobody reads is refused until it reads them, others are served', async () => {
  const [one] = [begin(get('/large')), begin(get('/large'))];
  await until('the address is refused', async () => (await statusOf('/small')) === '503');
  expect([await statusOf('/probe'), await statusOf('/small', '127.0.0.2')]).toEqual(['200', '200']);
  expect((await text(one as Socket)).length).toBeGreaterThan(30 * mebibyte);
  await until('it is served again', async () => (await statusOf('/small')) === '200');
});

/** Begins a body of thirty mebibytes, without its end. */
function beginBody(kind: string): Socket {
  const socket = begin(
    `POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n${kind}\r\n`,
  );
  if (kind.startsWith('transfer')) socket.write(`${(30 * mebibyte + 6).toString(16)}\r\n`);
  socket.write(`{"x":"${'x'.repeat(30 * mebibyte)}`);
  return socket;
}

test.each([`content-length: ${30 * mebibyte + 8}`, 'transfer-encoding: chunked'])(
  'bodies that do not arrive as a whole are bounded as well (%s)',
  async (kind) => {
    const first = beginBody(kind);
    await once(first, 'drain');
    const second = beginBody(kind);
    await new Promise((closed) => second.once('close', closed)); // once() would reject at the reset before it
    expect(await statusOf('/small')).toBe('200'); // the bytes of the second one are no longer counted
    first.write(kind.startsWith('transfer') ? '\r\n2\r\n"}\r\n0\r\n\r\n' : '"}');
    expect((await text(first)).slice(9, 12)).toBe('200');
  },
);

test('what arrives after its request was answered, for want of time, is not counted', async () => {
  for (let i = 0; i < 2; i++) {
    const described = `content-type: application/json\r\ncontent-length: ${31 * mebibyte}\r\n`;
    const late = begin(`POST /late HTTP/1.1\r\nhost: localhost\r\n${described}`);
    late.write('{');
    await once(late, 'readable'); // the answer
    late.write('x'.repeat(30 * mebibyte));
    await once(late, 'drain');
  }
  expect(await statusOf('/small')).toBe('200');
});

test('an answer whose caller left before it was made is not counted', async () => {
  const left = begin(get('/awaited'));
  await until('the request has begun', async () => (await connections()) === 1);
  left.destroy();
  await until('it is over', async () => (await connections()) === 0);
  expect(await statusOf('/small')).toBe('200');
});
const connections = () =>
  new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count)));
