import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createServer, type TLSSocket } from 'node:tls';
import { Connection } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { ConfigError, loadConfig } from '../../src/config.js';
import type { IdempotentRequests } from '../../src/domain/idempotency.js';
import { sendPageOrError } from '../../src/http/admin-auth/page-errors.js';
import { buildApp } from '../../src/http/app.js';
import { createHttpMetrics } from '../../src/http/metrics.js';
import { handleOAuthErrors } from '../../src/http/oauth/oauth-error.js';
import { answerWebauthnInJson } from '../../src/http/oauth/webauthn-json.js';
import { ExportAnswer } from '../../src/http/operations/audit-rows.js';
import { handlePageErrors } from '../../src/http/pages/error-page.js';
import { portalOperations } from '../../src/http/portal-api.js';
import { sendScimError } from '../../src/http/scim/errors.js';
import { answerUnreadable } from '../../src/http/server/unreadable-requests.js';
import { environmentOperations } from '../../src/http/surfaces/environment-operations.js';
import { takeIdempotencyKeys } from '../../src/http/surfaces/idempotency.js';
import { newSelfSigned } from '../../src/platform/crypto/self-signed.js';
import { faultForLog } from '../../src/platform/log.js';
import { connectionOptions } from '../../src/platform/temporal-connection.js';

/** What the service believes of the network, and what it reveals to it. */

const complete = {
  NODE_ENV: 'production',
  BASE_URL: 'https://id.example.com',
  DATABASE_URL: 'postgres://gatehouse_service:x@db.example.com/gatehouse',
  TEMPORAL_ADDRESS: 'localhost:7233',
  MASTER_KEYS: `test:${Buffer.alloc(32, 1).toString('base64')}`,
};

const span = { from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 3_600_000), bits: 2048 } as const;
const [server, client] = await Promise.all([newSelfSigned('localhost', span), newSelfSigned('gatehouse', span)]);

function refused(settings: Record<string, string>): string[] {
  try {
    loadConfig('api', { ...complete, ...settings });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.lines;
  }
}

test.each(['BASE_URL', 'ADMIN_APP_URL'])('in production %s has to be https, or on its own machine', (name) => {
  const plain = ['http://id.example.com', 'http://10.0.0.1:3000', 'http://localhost.example.com'];
  for (const url of plain) expect(refused({ [name]: url })).toEqual([`${name} must start with https:// in production`]);
  const safe = ['https://id.example.com', 'http://localhost:3000', 'http://id.localhost', 'http://[::1]:3000'];
  for (const url of [...safe, 'http://127.0.0.1:3000']) expect(refused({ [name]: url })).toEqual([]);
  expect(refused({ [name]: plain[0] as string, NODE_ENV: 'development' })).toEqual([]);
});

test('a request that does not arrive in time gets an answer, and a closed connection gets none', async () => {
  const answered = async (code: string) => {
    const socket = new PassThrough();
    answerUnreadable(Object.assign(new Error(), { code }) as never, socket as never);
    return socket.destroyed ? null : String(await socket.toArray());
  };
  expect(await answered('ERR_HTTP_REQUEST_TIMEOUT')).toMatch(
    /^HTTP\/1\.1 408 Request Timeout\r\n[\s\S]*"request\.timed_out"/,
  );
  expect(await answered('ECONNRESET')).toBeNull();
});

test('every answer has an id and the envelope, also that to an invalid request', async () => {
  const app = await buildApp({
    baseUrl: 'http://localhost:3000',
    logger: undefined,
    trustProxy: false,
    health: { checks: {} },
    metrics: createHttpMetrics(new Registry()),
    surfaces: [],
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const answered = async (request: string) => {
    const socket = connect(port, '127.0.0.1');
    socket.end(request);
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
    expect(head).toMatch(/^x-request-id: [0-9a-f-]{36}$/im);
    return `${head.split(' ')[1]} ${body && JSON.parse(body).error?.code}`;
  };
  expect(await answered('GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n')).toBe('400 request.malformed');
  expect(await answered('HEAD /healthz HTTP/1.1\r\nConnection: close\r\n\r\n')).toBe('400 ');
  expect(await answered('anything\r\n\r\n')).toBe('400 request.malformed');
  expect(await answered(`GET /${'a'.repeat(20_000)} HTTP/1.1\r\n\r\n`)).toBe('431 request.headers_too_large');
  expect(await answered('GET /healthz HTTP/1.0\r\n\r\n')).toBe('200 undefined');
  expect(await answered('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toBe('200 undefined');
  await app.close();
});

async function answers(trustProxy: boolean | string[], headers: Record<string, string>) {
  const lines: string[] = [];
  const app = await buildApp({
    baseUrl: 'https://id.example.com',
    logger: pino({ serializers: { err: faultForLog } }, { write: (line) => void lines.push(line) }),
    trustProxy,
    health: { checks: {} },
    metrics: createHttpMetrics(new Registry()),
    surfaces: [
      async (surface) => {
        surface.get('/address', async ({ ip }) => ({ ip }));
        surface.get('/fault', () => Promise.reject(new Error('quotes ana@example.com')));
      },
    ],
  });
  const [address, fault] = await Promise.all([
    app.inject({ url: '/address', headers }),
    app.inject({ url: '/fault', headers }),
  ]);
  await app.close();
  return { ip: address.json().ip as string, fault, logged: lines.join('') };
}

test('the address that a client claims counts only if a proxy of ours says so', async () => {
  const proxies = (text: string) => loadConfig('api', { ...complete, TRUST_PROXY: text }).trustProxy;
  const headers = { 'x-forwarded-for': '203.0.113.1, 198.51.100.7' }; // the client invented the first one
  expect((await answers(loadConfig('api', complete).trustProxy, headers)).ip).toBe('127.0.0.1');
  expect((await answers(proxies('10.0.0.0/8'), headers)).ip).toBe('127.0.0.1');
  expect((await answers(proxies('127.0.0.1'), headers)).ip).toBe('198.51.100.7');
});

test.each([
  ['203.0.113.9:50001', '203.0.113.9'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['2001:db8::1', '2001:db8::1'],
  ['198.51.100.7:1, 203.0.113.9:2', '203.0.113.9'],
  ['203.0.113.9:50001, 10.0.0.4:1234', '203.0.113.9'],
])('an X-Forwarded-For of %s from a proxy means the address %s', async (header, address) => {
  const { trustProxy } = loadConfig('api', { ...complete, TRUST_PROXY: '127.0.0.1, 10.0.0.0/8' });
  expect((await answers(trustProxy, { 'x-forwarded-for': header })).ip).toBe(address);
});

test('a fault is logged with its location, and not shown to the caller', async () => {
  const { fault, logged } = await answers(false, {});
  expect([fault.statusCode, fault.json().error.message]).toEqual([500, 'Something went wrong on our side']);
  expect(logged).toContain('unexpected error');
  expect(logged).toContain('transport.test');
  expect(fault.body + logged).not.toContain('ana@example.com');
});

const origin = 'https://id.example.com';
const surfaces: [string, (surface: FastifyInstance) => void][] = [
  ['a JSON API', () => {}],
  ['an OAuth endpoint', handleOAuthErrors],
  ['a hosted page', handlePageErrors],
  ['an endpoint of the pages’ script', answerWebauthnInJson],
  ['a page for administrators', (surface) => surface.setErrorHandler(sendPageOrError({ baseUrl: origin }))],
  ['SCIM', (surface) => surface.setErrorHandler(sendScimError)],
];

test.each(surfaces)(
  'an outage and a fault of %s are logged in the same form, without what they quote',
  async (_, handle) => {
    const lines: string[] = [];
    const outage = Object.assign(new Error('connect ECONNREFUSED for ana@example.com'), { code: 'ECONNREFUSED' });
    const app = await buildApp({
      baseUrl: origin,
      logger: pino({ level: 'warn', serializers: { err: faultForLog } }, { write: (line) => void lines.push(line) }),
      trustProxy: false,
      health: { checks: {} },
      metrics: createHttpMetrics(new Registry()),
      surfaces: [
        async (surface) => {
          handle(surface);
          surface.get('/outage', () => Promise.reject(outage));
          surface.get('/fault', () => Promise.reject(new Error('quotes ana@example.com')));
        },
      ],
    });
    const answers = [await app.inject('/outage'), await app.inject('/fault')];
    await app.close();
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([503, 500]);
    expect(lines.join('') + answers.map(({ body }) => body).join('')).not.toContain('ana@example.com');
    const logged = lines.map((line) => JSON.parse(line));
    expect(logged.map(({ level, msg, err }) => [level, msg, err.fault])).toEqual([
      [40, 'unavailable', 'Error ECONNREFUSED'],
      [50, 'unexpected error', 'Error'],
    ]);
  },
);

test('a request that takes too long gets 503, and its own answer is dropped', async () => {
  const lines: string[] = [];
  let keep = () => {};
  const kept = () => new Promise<void>((resolve) => (keep = resolve));
  const requests = { claim: async () => ({ earlier: null }), settle: kept } as unknown as IdempotentRequests;
  const app = await buildApp({
    baseUrl: 'https://id.example.com',
    logger: pino({ level: 'warn', serializers: { err: faultForLog } }, { write: (line) => void lines.push(line) }),
    trustProxy: false,
    answerWithinMs: 50,
    health: { checks: {} },
    metrics: createHttpMetrics(new Registry()),
    surfaces: [
      async (surface) => {
        for (const method of ['GET', 'POST'])
          surface.route({ method, url: '/never', handler: () => new Promise<never>(() => undefined) });
        const later = async () => new Promise((resolve) => setTimeout(resolve, 200, { ok: true }));
        surface.get('/waits', { config: { waitsMs: 3_600_000 } }, later);
        const pieces = async function* () {
          yield 'begun, ';
          await later();
          yield 'and whole';
        };
        surface.get('/streams', { config: { waitsMs: Number.POSITIVE_INFINITY } }, (_request, reply) =>
          reply.send(Readable.from(pieces())),
        );
      },
      async (surface) => {
        takeIdempotencyKeys(surface, { requests, credentialOf: () => 'anybody' });
        surface.post('/kept', async () => ({ ok: true }));
      },
    ],
  });
  const headers = { 'idempotency-key': 'one' };
  const late = await Promise.all([
    app.inject('/never'),
    app.inject({ method: 'POST', url: '/never', payload: { any: 'thing' } }),
    app.inject({ method: 'POST', url: '/kept', headers, payload: { any: 'thing' } }),
  ]);
  for (const answer of late) {
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '5']);
    expect(answer.json().error.code).toBe('service.unavailable');
  }
  expect((await app.inject('/waits')).json()).toEqual({ ok: true });
  expect((await app.inject('/streams')).body).toBe('begun, and whole');
  keep();
  await app.close();
  expect(lines.join('')).not.toContain('already sent');
});

test('an answer in pieces may take as long as it is read', () => {
  const streaming = [...environmentOperations, ...portalOperations].filter(
    ({ answers }) => answers[200] === ExportAnswer,
  );
  expect(new Set(streaming.map(({ id }) => id))).toEqual(new Set(['exportAuditLogs', 'exportAuditLog']));
  for (const { waitsMs } of streaming) expect(waitsMs).toBe(Number.POSITIVE_INFINITY);
});

describe('TLS to Temporal', () => {
  let folder: string;
  const at = (name: string) => join(folder, name);
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'transport-'));
    await writeFile(at('ca.pem'), server.certificate);
    await writeFile(at('client.pem'), client.certificate);
    await writeFile(at('client.key'), client.privateKey);
    await writeFile(at('nonsense'), 'nonsense');
  });
  afterAll(() => rm(folder, { recursive: true }));

  const files = () => ({
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: at('ca.pem'),
    TEMPORAL_TLS_CLIENT_CERT_PATH: at('client.pem'),
    TEMPORAL_TLS_CLIENT_KEY_PATH: at('client.key'),
  });
  const tlsWith = (settings: Record<string, string>) => loadConfig('api', { ...complete, ...settings }).temporal.tls;

  test('is off until something asks for it', () => {
    expect(tlsWith({})).toBeNull();
    expect(tlsWith({ TEMPORAL_TLS: 'on' })).toBe(true);
    expect(tlsWith({ TEMPORAL_API_KEY: 'secret' })).toBe(true);
  });

  test('refuses a file that cannot be read, and half a pair', () => {
    const problem = 'must be the path of a file in PEM';
    const ca = 'TEMPORAL_TLS_SERVER_CA_CERT_PATH';
    expect(refused({ [ca]: at('missing') })).toEqual([`${ca} ${problem}`]);
    for (const path of [at('nonsense'), folder]) expect(refused({ [ca]: path })).toEqual([`${ca} ${problem}`]);
    expect(refused({ TEMPORAL_TLS_CLIENT_KEY_PATH: at('client.key') })).toEqual([
      'TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH are needed together',
    ]);
    expect(refused({ ...files(), TEMPORAL_TLS_CLIENT_CERT_PATH: at('ca.pem') })).toEqual([
      'TEMPORAL_TLS_CLIENT_KEY_PATH must be the path of the private key of TEMPORAL_TLS_CLIENT_CERT_PATH, without a passphrase',
    ]);
  });

  /** Returns who connected, as the server sees it: by which certificate, or why not. */
  async function seenBy(settings: Record<string, string>): Promise<string> {
    const listening = createServer({
      key: server.privateKey,
      cert: server.certificate,
      ca: client.certificate,
      requestCert: true, // requires a certificate of this authority
      ALPNProtocols: ['h2'],
    });
    const came = Promise.race([
      once(listening, 'secureConnection').then(([socket]) => {
        const { CN: name } = (socket as TLSSocket).getPeerCertificate().subject;
        socket.on('error', () => {}).destroy();
        return String(name);
      }),
      once(listening, 'tlsClientError').then(() => 'nobody'),
    ]);
    listening.listen(0, 'localhost');
    await once(listening, 'listening');
    const { temporal } = loadConfig('api', {
      ...complete,
      ...settings,
      TEMPORAL_ADDRESS: `localhost:${(listening.address() as AddressInfo).port}`,
    });
    const options = connectionOptions({ ...temporal, address: temporal.address as string });
    const connection = Connection.lazy({ ...options, connectTimeout: 1 }); // only the waiting ends with it, not the attempt
    const connecting = connection.ensureConnected().catch(() => undefined); // what it reaches is no Temporal
    const seen = await came;
    listening.close();
    await connection.close();
    await connecting;
    return seen;
  }

  test('shows the certificate of the service to a server that the authority vouches for', async () => {
    expect(await seenBy(files())).toBe('gatehouse');
  });

  test('is not started with any other server, nor without TLS', async () => {
    expect(await seenBy({ ...files(), TEMPORAL_TLS_SERVER_CA_CERT_PATH: at('client.pem') })).toBe('nobody');
    expect(await seenBy({ TEMPORAL_TLS: 'on' })).toBe('nobody');
    expect(await seenBy({})).toBe('nobody');
  });
});
