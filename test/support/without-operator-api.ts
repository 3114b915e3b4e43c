import { once } from 'node:events';
import { connect, createServer, type IncomingHttpHeaders, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';

/** gRPC's PERMISSION_DENIED, as an answer without a body. */
const refusal = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '7' };

/** Proxies a Temporal server as callers see it who may not use its operator API, like those of Temporal Cloud. */
export async function withoutOperatorApi(address: string): Promise<{ address: string; close(): Promise<void> }> {
  const behind = connect(`http://${address}`);
  behind.on('error', () => undefined); // its calls fail
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer();
  server.on('session', (session) => sessions.add(session));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    if (behind.destroyed) return stream.close(); // the server has ended before its proxy
    if (headers[':path']?.startsWith('/temporal.api.operatorservice.'))
      return stream.respond(refusal, { endStream: true });
    const call = behind.request(headers);
    call.on('error', () => stream.close());
    stream.on('close', () => call.close());
    let trailers: IncomingHttpHeaders = {};
    call.on('trailers', (received) => {
      trailers = received;
    });
    call.on('response', (answer, flags) => {
      const isWhole = (flags & 1) === 1; // END_STREAM
      stream.respond(answer, isWhole ? { endStream: true } : { waitForTrailers: true });
      if (isWhole) return;
      stream.on('wantTrailers', () => stream.sendTrailers(trailers));
      call.pipe(stream);
    });
    stream.pipe(call);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve)); // takes no further session
      for (const session of sessions) session.destroy();
      await closed;
      behind.destroy();
    },
  };
}
