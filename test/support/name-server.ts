import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/**
 * A real name server on loopback, which knows one thing: the IPv4 addresses of whatever name it is asked for.
 * @param answer the addresses for the first, second, … question of type A
 */
export async function startNameServer(answer: (question: number) => string[]) {
  const socket = createSocket('udp4');
  let asked = 0;
  socket.on('message', (query, { port, address }) => {
    const end = query.indexOf(0, 12) + 5; // the name ends with a zero, type and class follow
    const addresses = query.readUInt16BE(end - 4) === 1 ? answer(asked++) : [];
    const header = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, addresses.length, 0, 0, 0, 0]);
    const records = addresses.map((text) => [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...text.split('.').map(Number)]);
    socket.send(Buffer.from([...header, ...query.subarray(12, end), ...records.flat()]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${(socket.address() as AddressInfo).port}`,
    asked: () => asked,
    close: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  };
}
