import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  activeTracing,
  startTracing,
  stopTracing,
  traceOfLine,
  traceparent,
} from '../../src/platform/tracing/tracing.js';
import { newAccount, startApi } from '../support/api.js';
import { password } from '../support/oauth/environment.js';
import { newProvider, type TestProvider } from '../support/oauth/provider.js';
import { codeFor } from '../support/oauth/sign-in.js';
import { redeem, refresh, userinfo } from '../support/oauth/tokens.js';
import { type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.js';

/** The settings as an operator sets them; the SDK reads them itself. */
const settings = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_BSP_SCHEDULE_DELAY',
  'OTEL_TRACES_SAMPLER',
  'OTEL_SERVICE_NAME',
  'OTEL_EXPORTER_OTLP_TIMEOUT',
];
const receivers: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  await stopTracing();
  for (const { stop } of receivers.splice(0)) await stop();
  for (const name of settings) delete process.env[name];
});

const said: string[] = [];
const note = (...words: unknown[]) => said.push(String(words.at(-1)));
const log = { warn: note, info: note };

/** Collects traces that are sent when the process stops, and not before: the batch's next time never comes. */
async function traced(env: Record<string, string> = {}, protocol: 'http/json' | 'http/protobuf' = 'http/json') {
  const receiver = await startOtlpReceiver();
  receivers.push(receiver);
  Object.assign(process.env, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '3600000' }, env);
  await startTracing({ protocol, serviceName: 'gatehouse-test', log });
  return {
    ...receiver,
    /** Returns what an ended process has sent. */
    async sent() {
      await stopTracing();
      return receiver;
    },
  };
}

/** Returns the ids of a caller's trace. */
const caller = () => ({ traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') });
const requestsOf = (spans: ReceivedSpan[]) => spans.filter(({ attributes }) => 'http.request.method' in attributes);

describe('a sign-in with secrets of every kind', () => {
  let world: TestProvider;
  let spans: ReceivedSpan[];
  let text: string;
  let secrets: string[];
  const trace = caller();

  beforeAll(async () => {
    const receiver = await traced();
    world = await newProvider();
    const environment = await world.newEnvironment();
    const client = await environment.newClient();
    const ana = await environment.newIdentity();
    const flow = await codeFor(world.browser(), client, ana.email);
    const tokens = (await redeem(world.app, client, flow)).json();
    const renewed = (await refresh(world.app, client, tokens.refresh_token)).json();
    await userinfo(world.app, renewed.access_token);
    await world.app.inject({
      url: '/oauth/userinfo?hint=in-the-query',
      headers: {
        traceparent: `00-${trace.traceId}-${trace.spanId}-01`,
        tracestate: 'vendor=in-the-state',
        baggage: 'user=in-the-baggage',
        authorization: 'Bearer in-the-header',
      },
    });
    await world.app.inject('/in-the-path/of-nothing');
    await world.app.inject('/healthz');
    const from = await receiver.sent();
    spans = from.spans;
    text = from.requests.map((request) => request.text).join('\n');
    secrets = [
      ...[
        ana.email,
        ana.email.split('@')[0] as string,
        password,
        flow.code,
        tokens.access_token,
        tokens.refresh_token,
        tokens.id_token,
      ],
      ...[renewed.access_token, renewed.refresh_token, client.secret ?? '', 'Arendt', '127.0.0.1', 'light-my-request'],
      ...['in-the-query', 'in-the-state', 'in-the-baggage', 'in-the-header', 'in-the-path', 'of-nothing'],
    ].filter((secret) => secret !== '');
  });
  afterAll(() => world?.close());

  test('each request is a span with its route, and its statements are below it', () => {
    const token = spans.find(({ name }) => name === 'POST /oauth/token');
    expect(token?.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/oauth/token',
      'http.response.status_code': 200,
      'gatehouse.request_id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(token).toMatchObject({ service: 'gatehouse-test', parentSpanId: '', isError: false });
    const below = spans.filter(({ parentSpanId }) => parentSpanId === token?.spanId);
    expect(below.length).toBeGreaterThan(0);
    expect(
      below.every(({ attributes, traceId }) => attributes['db.query.text'] !== '' && traceId === token?.traceId),
    ).toBe(true);
    expect(new Set(requestsOf(spans).map(({ traceId }) => traceId)).size).toBe(requestsOf(spans).length);
  });

  test('a password comparison has a span below its request', () => {
    const proof = spans.find(({ name }) => name === 'verify password');
    expect(proof?.attributes).toEqual({});
    const request = spans.find(({ spanId }) => spanId === proof?.parentSpanId);
    expect(request?.name).toBe('POST /oauth/authorize');
  });

  test('no span contains an address, password, code, token, header, path or query of it', () => {
    expect(text).toContain('/oauth/userinfo');
    expect(secrets.length).toBeGreaterThan(12);
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  });

  test('a request with a trace is part of it; an unknown path has no route, and probes are not traced', () => {
    const mine = spans.filter(({ traceId }) => traceId === trace.traceId);
    expect(mine[0]).toBeDefined();
    expect(requestsOf(mine)).toMatchObject([{ name: 'GET /oauth/userinfo', parentSpanId: trace.spanId }]);
    expect(
      spans.filter(({ name }) => name === 'GET').map(({ attributes }) => attributes['http.response.status_code']),
    ).toEqual([404]);
    expect(spans.filter(({ name }) => name.includes('healthz'))).toEqual([]);
  });
});

test('a request whose caller disconnects before the answer is an ended span without a status', async () => {
  const { sent } = await traced();
  const api = await startApi();
  const headers = await (await newAccount(api)).apiKey();
  await api.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = api.app.server.address() as AddressInfo;
  const asked = get({ host: '127.0.0.1', port, path: '/api/v1/changes?wait=30', headers });
  const [, response] = await once(api.app.server, 'request');
  asked.destroy();
  await expect(once(asked, 'response')).rejects.toThrow('socket hang up');
  if (!response.closed) await once(response, 'close');
  await api.stop();
  const left = requestsOf((await sent()).spans);
  expect(left.map(({ name, isError }) => [name, isError])).toEqual([['GET /api/v1/changes', false]]);
  expect(left[0]?.attributes).not.toHaveProperty('http.response.status_code');
});

test('a malformed traceparent is ignored', async () => {
  const { sent } = await traced();
  const malformed = [
    '',
    'nothing',
    `00-${'0'.repeat(32)}-${'a'.repeat(16)}-01`,
    `00-${'a'.repeat(32)}-${'0'.repeat(16)}-01`,
    `ff-${'a'.repeat(32)}-${'a'.repeat(16)}-01`,
    `00-${'A'.repeat(32)}-${'a'.repeat(16)}-01`,
    `00-${'a'.repeat(32)}-${'a'.repeat(16)}-01-more`,
    `00-${'a'.repeat(32)}-${'a'.repeat(16)}-01, 00-${'b'.repeat(32)}-${'b'.repeat(16)}-01`,
    'a'.repeat(5_000),
  ];
  for (const [i, parent] of malformed.entries())
    activeTracing()
      ?.begin({ name: `one ${i}`, parent })
      .end();
  activeTracing()
    ?.begin({ name: 'of a later version', parent: `01-${'a'.repeat(32)}-${'b'.repeat(16)}-01-more` })
    .end();
  const { spans } = await sent();
  const begun = spans.filter(({ name }) => name.startsWith('one'));
  expect(begun.map(({ parentSpanId }) => parentSpanId)).toEqual(malformed.map(() => ''));
  expect(new Set(begun.map(({ traceId }) => traceId)).size).toBe(malformed.length);
  expect(spans.at(-1)).toMatchObject({ traceId: 'a'.repeat(32), parentSpanId: 'b'.repeat(16) });
});

test('the standard settings apply: service name, headers, sampler; Protocol Buffers unless JSON is requested', async () => {
  const one = await traced(
    { OTEL_SERVICE_NAME: 'named', OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=operators' },
    'http/protobuf',
  );
  await activeTracing()?.run({ name: 'kept' }, async () => {});
  const { requests } = await one.sent();
  expect(requests).toMatchObject([
    { path: '/v1/traces', type: 'application/x-protobuf', headers: { 'x-tenant': 'operators' } },
  ]);
  expect(requests[0]?.text).toContain('named');

  const none = await traced({ OTEL_TRACES_SAMPLER: 'always_off' });
  const carried = await activeTracing()?.run({ name: 'dropped' }, async () => traceparent());
  expect(carried).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/); // so that nothing behind it records a part of it
  expect((await none.sent()).requests).toEqual([]);
});

test('a failure is recorded by its kind, and never by its message', async () => {
  const { sent } = await traced();
  const failing = activeTracing()?.run({ name: 'failing' }, async () => {
    throw Object.assign(new Error('no such person as ana@example.com'), { code: 'ENOTFOUND' });
  });
  await expect(failing).rejects.toThrow('ana@example.com');
  const { spans, requests } = await sent();
  expect(spans).toMatchObject([{ name: 'failing', isError: true, attributes: { 'error.type': 'Error ENOTFOUND' } }]);
  expect(requests.some(({ text }) => text.includes('ana@'))).toBe(false);
});

test('without a collector one line says so, nothing waits, and the process ends', async () => {
  const { stop } = await traced({ OTEL_BSP_SCHEDULE_DELAY: '10', OTEL_EXPORTER_OTLP_TIMEOUT: '200' });
  await stop();
  said.length = 0;
  for (let i = 0; i < 30; i++) {
    await activeTracing()?.run({ name: 'lost' }, () => new Promise((resolve) => setTimeout(resolve, 20)));
  }
  while (said.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await stopTracing();
  expect(said).toEqual(['traces cannot be sent; they are given up']);
});

test('without traces nothing is wrapped, and no trace is passed on', async () => {
  expect([activeTracing(), traceparent(), traceOfLine()]).toEqual([null, null, {}]);
});
