import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { until } from '../support/until.js';

/** Large or odd requests, which the frame refuses before any handler of ours reads them. */

let api: TestApi;
let account: TestAccount;
let headers: string;
const sockets: Socket[] = [];
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  headers = asHead(await account.apiKey());
  await api.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await api?.stop();
});

const asHead = (named: Record<string, string>) =>
  Object.entries(named)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');

function open(text: string): Socket {
  const socket = connect((api.app.server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  socket.write(text);
  return socket;
}

/** Returns the status line, and the code of a refusal. */
async function said(socket: Socket): Promise<string> {
  const [piece] = await once(socket, 'data');
  return [/^HTTP\/1\.1 (\d+)/.exec(piece)?.[1], /"code":"([^"]+)"/.exec(piece)?.[1]].filter(Boolean).join(' ');
}

const bulk = (length: number) =>
  `POST /api/v1/identities/bulk HTTP/1.1\r\nhost: x\r\n${headers}content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
const get = (more: string) => `GET /api/v1/identities HTTP/1.1\r\n${more}\r\n`;

test('bodies of several megabytes are read in turns, and others at once', async () => {
  const { largeBodies } = api.services;
  const large = [open(bulk(2_000_000)), open(bulk(2_000_000))];
  await until('both have their turns', () => largeBodies.load().running === 2);
  const third = open(bulk(2_000_000));
  await until('the third waits', () => largeBodies.load().waiting === 1);
  const small = open(bulk(2));
  small.write('{}');
  expect(await said(small)).toBe('400 validation.failed');
  expect(await said(third)).toBe('503 service.unavailable'); // before any of it is read
  for (const socket of large) socket.destroy();
  await until('whoever leaves gives their turn back', () => largeBodies.load().running === 0);
});

test('a large body that arrives slowly has one turn, so that two of them do not wait for each other', async () => {
  const body = '{"identities":[]}'.padEnd(2_000_000);
  const slow = [open(bulk(body.length)), open(bulk(body.length))];
  await until('both have their turns', () => api.services.largeBodies.load().running === 2);
  await sleep(1_100); // until their callers are authenticated again
  for (const socket of slow) socket.write(body);
  expect(await Promise.all(slow.map(said))).toEqual(['400 validation.failed', '400 validation.failed']);
});

test('headers after the 2000th count', async () => {
  const many = 'a:\r\n'.repeat(2_500);
  expect(await said(open(get(`host: x\r\n${many}${headers}`)))).toBe('200');
});

test.each(['', 'host:\r\n', 'host: x\r\nHost: y\r\n'])('a request with %j for a host is malformed', async (host) => {
  expect(await said(open(get(`${host}${headers}`)))).toBe('400 request.malformed');
});
