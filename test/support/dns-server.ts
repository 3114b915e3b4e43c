import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import packet, { type Answer, type DecodedPacket } from 'dns-packet';

/** What the name server answers about a name. */
export type Behavior =
  /** TXT records, each whole or in its strings. */
  | { txt: (string | string[])[] }
  | { cname: string }
  /** The name does not exist or has no TXT record; `ttl` is how many seconds this may be cached. */
  | { absent: 'nxdomain' | 'nodata'; ttl?: number }
  | { servfail: true }
  /** No answer at all. */
  | { silent: true }
  /** Something that is not a DNS message, before the right answer. */
  | { noise: string[] }
  /** Over UDP, an empty answer with the truncation flag. */
  | { truncated: string[] }
  /** A referral: other servers are authoritative for the name, in this child zone. */
  | { delegated: string; to: string[] }
  /** An answer from a server that is not authoritative. */
  | { lame: string[] }
  /** What a resolver answers to NS and A questions: a zone's servers, and a server's addresses. */
  | { ns: string[] }
  | { a: string[] };

export type TestDnsServer = Awaited<ReturnType<typeof startDnsServer>>;

/** Starts a real name server on loopback, over UDP and TCP. Names that no test has set do not exist. */
export async function startDnsServer() {
  const zones = new Map<string, Behavior | (() => Behavior)>();
  const asked: string[] = [];
  let fallback: Behavior = { absent: 'nxdomain', ttl: 0 };

  const respond = (message: Buffer, transport: 'udp' | 'tcp'): Buffer[] => {
    const query = packet.decode(message);
    const { name = '', type } = query.questions?.[0] ?? {};
    if (type === 'TXT') asked.push(name.toLowerCase());
    const told = zones.get(`${type} ${name.toLowerCase()}`) ?? zones.get(name.toLowerCase()) ?? fallback;
    return messages(query, typeof told === 'function' ? told() : told, transport);
  };

  const tcp = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      for (const one of respond(chunk.subarray(2), 'tcp')) {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(one.length);
        socket.write(length); // in two parts, as networks split it
        setImmediate(() => socket.end(one));
      }
    });
  }).listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4');
  udp.on('message', (message, { port: to, address }) => {
    for (const one of respond(message, 'udp')) udp.send(one, to, address);
  });
  udp.bind(port, '127.0.0.1');
  await once(udp, 'listening');

  return {
    port,
    /** In the form of `DNS_SERVERS`. */
    address: `127.0.0.1:${port}`,
    server: { address: '127.0.0.1', port },
    /** Sets the behavior from now on, or computes it at each question; with `type`, only for questions of that type. */
    set: (name: string, behavior: Behavior | (() => Behavior), type?: 'TXT' | 'NS' | 'A' | 'AAAA') =>
      void zones.set(type ? `${type} ${name.toLowerCase()}` : name.toLowerCase(), behavior),
    remove: (name: string) => void zones.delete(name.toLowerCase()),
    /** Sets the answer for all names that have no behavior of their own. */
    otherwise(behavior: Behavior) {
      fallback = behavior;
    },
    /** Returns how often the TXT records of a name were asked for; without a name, of any. */
    asked: (name?: string) => (name ? asked.filter((one) => one === name.toLowerCase()).length : asked.length),
    async stop(): Promise<void> {
      udp.close();
      tcp.close();
      await once(tcp, 'close');
    },
  };
}

function messages(query: DecodedPacket, behavior: Behavior, transport: 'udp' | 'tcp'): Buffer[] {
  const question = query.questions?.[0];
  const name = question?.name ?? '';
  const response = (flags: number, answers: Answer[] = [], authorities: Answer[] = []) =>
    packet.encode({ type: 'response', id: query.id, flags, questions: query.questions, answers, authorities });
  const authoritative = packet.AUTHORITATIVE_ANSWER;
  const texts = (all: (string | string[])[]): Answer[] => all.map((data) => ({ type: 'TXT', name, ttl: 60, data }));
  const soa = (ttl: number): Answer => ({
    type: 'SOA',
    name: name.split('.').slice(-2).join('.'),
    ttl,
    data: { mname: 'ns.test', rname: 'admin.test', serial: 1, refresh: 1, retry: 1, expire: 1, minimum: ttl },
  });

  if ('silent' in behavior) return [];
  if ('servfail' in behavior) return [response(2)];
  if ('cname' in behavior) return [response(authoritative, [{ type: 'CNAME', name, ttl: 60, data: behavior.cname }])];
  if ('absent' in behavior)
    return [response(authoritative | (behavior.absent === 'nxdomain' ? 3 : 0), [], [soa(behavior.ttl ?? 0)])];
  if ('noise' in behavior) {
    const other = packet.encode({
      type: 'response',
      id: (query.id ?? 0) ^ 1,
      flags: authoritative,
      questions: query.questions,
    });
    return [Buffer.from('not a message'), other, response(authoritative, texts(behavior.noise))];
  }
  if ('truncated' in behavior) {
    return transport === 'udp'
      ? [response(authoritative | packet.TRUNCATED_RESPONSE)]
      : [response(authoritative, texts(behavior.truncated))];
  }
  if ('delegated' in behavior) {
    const { delegated, to } = behavior;
    return [
      response(
        0,
        [],
        to.map((data) => ({ type: 'NS', name: delegated, ttl: 60, data })),
      ),
    ];
  }
  if ('lame' in behavior) return [response(0, texts(behavior.lame))];
  if ('ns' in behavior && question?.type === 'NS')
    return [
      response(
        0,
        behavior.ns.map((data) => ({ type: 'NS', name, ttl: 60, data })),
      ),
    ];
  if ('a' in behavior && question?.type === 'A')
    return [
      response(
        0,
        behavior.a.map((data) => ({ type: 'A', name, ttl: 60, data })),
      ),
    ];
  if ('txt' in behavior && question?.type === 'TXT') return [response(authoritative, texts(behavior.txt))];
  return [response(authoritative, [], [soa(0)])];
}
