import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { on, once } from 'node:events';
import { isIPv6, connect as openTcp } from 'node:net';
import packet, { type DecodedPacket } from 'dns-packet';

/** The address and port of a name server. */
export interface Server {
  address: string;
  port: number;
}

export interface Question {
  name: string;
  type: 'TXT';
  /** Whether the server should ask other servers on our behalf; a zone's own servers answer only for themselves. */
  recursive: boolean;
}

/** DNS Flag Day 2020: so that no answer over UDP is fragmented, since fragments are easily forged. */
const udpPayloadSize = 1232;

/**
 * Asks one server one question, over UDP, and over TCP where the answer does not fit (RFC 1035 §4.2). A message is
 * accepted only if it comes from that server to our randomly chosen port, and repeats the id and the question.
 * @throws when no usable answer arrives before `signal` aborts, or the server cannot be reached
 */
export async function askServer(server: Server, question: Question, signal: AbortSignal): Promise<DecodedPacket> {
  const id = randomInt(65_536);
  const message = packet.encode({
    type: 'query',
    id,
    flags: question.recursive ? packet.RECURSION_DESIRED : 0,
    questions: [{ type: question.type, name: question.name }],
    additionals: [
      { type: 'OPT', name: '.', udpPayloadSize, flags: 0, ednsVersion: 0, extendedRcode: 0, options: [] } as never,
    ],
  });
  const isAnswer = (answer: DecodedPacket | null): answer is DecodedPacket => {
    const [asked] = answer?.questions ?? [];
    return (
      answer?.type === 'response' &&
      answer.id === id &&
      asked?.type === question.type &&
      asked.name.toLowerCase() === question.name.toLowerCase()
    );
  };
  const answer = await overUdp(server, message, isAnswer, signal);
  return answer.flag_tc ? overTcp(server, message, isAnswer, signal) : answer;
}

type IsAnswer = (answer: DecodedPacket | null) => answer is DecodedPacket;

async function overUdp({ address, port }: Server, message: Buffer, isAnswer: IsAnswer, signal: AbortSignal) {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  try {
    socket.connect(port, address); // from now on the system drops messages from other addresses
    await once(socket, 'connect', { signal });
    socket.send(message);
    for await (const [received] of on(socket, 'message', { signal })) {
      const answer = decoded(received as Buffer);
      if (isAnswer(answer)) return answer;
    }
    throw new Error('no usable answer over UDP');
  } finally {
    socket.on('error', () => undefined);
    socket.close();
  }
}

async function overTcp({ address, port }: Server, message: Buffer, isAnswer: IsAnswer, signal: AbortSignal) {
  const socket = openTcp({ host: address, port, signal });
  try {
    await once(socket, 'connect', { signal });
    const length = Buffer.alloc(2);
    length.writeUInt16BE(message.length);
    socket.write(Buffer.concat([length, message]));
    let received = Buffer.alloc(0);
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk as Buffer]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) continue;
      const answer = decoded(received.subarray(2, 2 + received.readUInt16BE(0)));
      if (isAnswer(answer)) return answer;
      break;
    }
    throw new Error('no usable answer over TCP');
  } finally {
    socket.on('error', () => undefined);
    socket.destroy();
  }
}

/** Returns null if the bytes are no DNS message: the other side may send anything. */
export function decoded(message: Buffer): DecodedPacket | null {
  try {
    return packet.decode(message);
  } catch {
    return null;
  }
}
