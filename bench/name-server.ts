import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Stops } from '../src/dev/stops.js';

/** A received question: the name, and when it arrived (milliseconds since 1970). */
export interface Question {
  name: string;
  at: number;
}

/** Starts a name server in this process that knows no names, and records the questions. */
export async function startNameServer(stops: Stops): Promise<{ address: string; asked: Question[] }> {
  const asked: Question[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const labels: string[] = [];
    let at = 12; // RFC 1035 §4.1: the question follows the header, its name as labels with their lengths
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    asked.push({ name: labels.join('.').toLowerCase(), at: Date.now() });
    const nobody = Buffer.from([...query.subarray(0, 2), 0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0]); // NXDOMAIN
    socket.send(Buffer.concat([nobody, query.subarray(12, at + 5)]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const stop = () => new Promise<void>((resolve) => socket.close(() => resolve()));
  stops.add({ name: 'name server', exited: new Promise<never>(() => {}), stop });
  return { address: `127.0.0.1:${(socket.address() as AddressInfo).port}`, asked };
}
