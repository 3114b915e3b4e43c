import { randomBytes } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { recordHistory } from '../support/histories.js';
import { linkIn, waitForMail } from '../support/inbox.js';
import { type ReceivedSpan, startOtlpReceiver, treeOf } from '../support/otlp-receiver.js';
import { type Service, startService } from '../support/service.js';
import { historyText } from '../support/temporal.js';
import { until } from '../support/until.js';
import { startReceiver } from '../support/webhooks.js';

let otlp: Awaited<ReturnType<typeof startOtlpReceiver>>;
let webhooks: Awaited<ReturnType<typeof startReceiver>>;
let service: Service;
beforeAll(async () => {
  otlp = await startOtlpReceiver();
  webhooks = await startReceiver((_message, _before, response) => response.writeHead(204).end());
  service = await startService({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '200',
      LOG_LEVEL: 'info',
    },
  });
});
afterAll(async () => {
  await service?.stop();
  await webhooks?.stop();
  await otlp?.stop();
});

const olga = {
  email: 'olga.ostrova@example.com',
  password: randomBytes(12).toString('base64url'),
  first_name: 'Olgavna',
  last_name: 'Ostrova',
  account_name: 'Quarry & Sons',
  application_name: 'Stonecutter',
};
const secrets = [...Object.values(olga), 'olga.ostrova', 'example.com', 'quarry', '/hooks'];

/** Sends a request in its caller's trace; returns the trace id. */
async function call(method: string, path: string, body: object, headers: Record<string, string> = {}) {
  const traceId = randomBytes(16).toString('hex');
  const response = await fetch(`${service.baseUrl}${path}`, {
    method,
    headers: { 'content-type': 'application/json', traceparent: `00-${traceId}-${'c'.repeat(16)}-01`, ...headers },
    body: JSON.stringify(body),
  });
  const { data } = (await response.json()) as { data: Record<string, string> };
  return { traceId, status: response.status, data, cookies: response.headers.getSetCookie() };
}

const spansOf = (traceId: string) => otlp.spans.filter((span) => span.traceId === traceId);
/** Waits for the span that arrives last. */
const received = (traceId: string, name: string) =>
  until(`${name} in the trace`, async () => spansOf(traceId).find((span) => span.name === name));
const isStatement = ({ name, attributes }: ReceivedSpan) => name === 'transaction' || 'db.query.text' in attributes;
/** Returns the spans below the request once it has arrived, without the many transactions and statements. */
async function formOf(traceId: string, request: string) {
  await received(traceId, request);
  const spans = spansOf(traceId);
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const lifted = (id: string): string => {
    const span = byId.get(id);
    return span && isStatement(span) ? lifted(span.parentSpanId) : id;
  };
  return treeOf(
    spans.filter((span) => !isStatement(span)).map((span) => ({ ...span, parentSpanId: lifted(span.parentSpanId) })),
    ({ name, service }) => `${name} (${service})`,
  ).split('\n');
}

let registered: string;
/** The cookie of the browser that registered. */
let cookie: string;

test('a registration is one trace: request, outbox, workflow, activities, and the mail with its own workflow', async () => {
  const answered = await call('POST', '/v1/auth/register', olga);
  registered = answered.traceId;
  cookie = answered.cookies.map((line) => line.split(';', 1)[0]).join('; ');
  secrets.push(cookie.split('=')[1] as string);
  await received(registered, 'CompleteWorkflow:emailDelivery');
  expect(await formOf(registered, 'POST /v1/auth/register')).toEqual([
    'POST /v1/auth/register (gatehouse-api)',
    '  check password (gatehouse-api)',
    '  hash password (gatehouse-api)',
    '  relay registrationVerification (gatehouse-worker)',
    '    StartWorkflow:registrationVerification (gatehouse-worker)',
    '      RunWorkflow:registrationVerification (gatehouse-worker)',
    '        RunActivity:queueVerificationEmail (gatehouse-worker)',
    '          relay emailDelivery (gatehouse-worker)',
    '            StartWorkflow:emailDelivery (gatehouse-worker)',
    '              RunWorkflow:emailDelivery (gatehouse-worker)',
    '                RunActivity:sendEmail (gatehouse-worker)',
    '                  send registration-verification (gatehouse-worker)',
    '                CompleteWorkflow:emailDelivery (gatehouse-worker)',
  ]);
  const spans = spansOf(registered);
  const request = spans.find(({ name }) => name === 'POST /v1/auth/register') as ReceivedSpan;
  expect(request.parentSpanId).toBe('c'.repeat(16)); // of the caller
  const transaction = spans.find(({ parentSpanId, name }) => parentSpanId === request.spanId && name === 'transaction');
  const statements = spans.filter(({ parentSpanId }) => parentSpanId === transaction?.spanId).map(({ name }) => name);
  expect(statements).toEqual(expect.arrayContaining(['INSERT pending_registrations', 'INSERT outbox', 'COMMIT']));
  expect(spans.find(({ name }) => name === 'RunActivity:sendEmail')?.attributes).toEqual({
    temporalWorkflowId: expect.stringMatching(/^email\/[0-9a-f-]{36}$/),
    run_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    temporalActivityId: expect.any(String),
    'gatehouse.attempt': 1,
  });
  expect(service.api.lines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ msg: 'answered', route: '/v1/auth/register', trace_id: registered }),
  );
});

test('the confirmation is a separate trace, through the update, with a link to the workflow that it wakes', async () => {
  const token = new URL(linkIn(await waitForMail(service.inboxUrl, olga.email))).searchParams.get('token') as string;
  secrets.push(token);
  const { traceId, status } = await call('POST', '/v1/auth/verify-email', { token }, { cookie });
  expect(status).toBe(201);
  const handled = await received(traceId, 'HandleUpdate:confirm');
  expect(await formOf(traceId, 'POST /v1/auth/verify-email')).toEqual([
    'POST /v1/auth/verify-email (gatehouse-api)',
    '  UpdateWithStartWorkflow:registrationVerification (gatehouse-api)',
    '    HandleUpdate:confirm (gatehouse-worker)',
    '      RunActivity:provisionRegistration (gatehouse-worker)',
  ]);
  const run = spansOf(registered).find(({ name }) => name === 'RunWorkflow:registrationVerification') as ReceivedSpan;
  expect(handled.links).toMatchObject([{ traceId: registered, spanId: run.spanId }]);
  const ended = await received(registered, 'CompleteWorkflow:registrationVerification');
  expect(ended).toMatchObject({ parentSpanId: run.spanId, isError: false });

  const connection = await Connection.connect({ address: service.temporalAddress });
  const handle = new Client({ connection }).workflow.getHandle(run.attributes.temporalWorkflowId as string);
  const history = await historyText(handle);
  expect([history.includes(registered), history.includes(traceId)]).toEqual([true, true]);
  await recordHistory('registration-traced', handle); // recorded with traces: it replays without them
  await connection.close();
});

test('a webhook delivery is in the trace of its event, and the receiver does not get the trace', async () => {
  const { data: session } = await call('POST', '/v1/auth/login', { email: olga.email, password: olga.password });
  secrets.push(session.access_token as string, session.refresh_token ?? (session.access_token as string));
  const authorization = { authorization: `Bearer ${session.access_token}` };
  const account = '/portal/v1/accounts/quarry-sons';
  const wanted = { url: webhooks.url('/hooks'), event_types: ['*'] };
  const made = await call('POST', `${account}/webhooks`, wanted, authorization);
  expect(made.status).toBe(201);
  secrets.push(made.data.secret as string);
  const { traceId, status } = await call(
    'PATCH',
    `${account}/webhooks/${made.data.id}`,
    { description: 'Ours alone' },
    { ...authorization, 'if-match': '*' },
  );
  expect(status).toBe(200);
  await received(traceId, 'CompleteWorkflow:webhookDelivery');
  const request = 'PATCH /portal/v1/accounts/:accountSlug/webhooks/:id';
  expect(await formOf(traceId, request)).toEqual([
    `${request} (gatehouse-api)`,
    '  relay webhookDelivery (gatehouse-worker)',
    '    StartWorkflow:webhookDelivery (gatehouse-worker)',
    '      RunWorkflow:webhookDelivery (gatehouse-worker)',
    '        RunActivity:attemptWebhook (gatehouse-worker)',
    '          POST (gatehouse-worker)',
    '        CompleteWorkflow:webhookDelivery (gatehouse-worker)',
  ]);
  const post = spansOf(traceId).find(({ name }) => name === 'POST');
  expect(post?.attributes).toEqual({ 'http.request.method': 'POST', 'http.response.status_code': 204 });
  expect(webhooks.at('/hooks').map(({ headers }) => [headers.traceparent, headers.tracestate])).toContainEqual([
    undefined,
    undefined,
  ]);
});

test('nothing in the traces identifies a person', () => {
  const text = otlp.requests.map((request) => request.text).join('\n');
  expect(text.length).toBeGreaterThan(10_000);
  expect([...secrets, 'Ours alone'].filter((secret) => text.includes(secret))).toEqual([]);
});

test('without a trace collector, requests are answered as usual, each process reports it once, and ends in order', async () => {
  await otlp.stop();
  const told = () =>
    [service.api, service.worker].map(
      ({ lines }) => lines.filter((line) => line.includes('traces cannot be sent')).length,
    );
  const answers: number[] = [];
  await until('both have said it', async () => {
    answers.push((await call('POST', '/v1/auth/register', { ...olga, email: 'another@example.com' })).status);
    return told().every((count) => count > 0);
  });
  expect([...new Set(answers)]).toEqual([201]);
  expect(told()).toEqual([1, 1]);
  expect(await Promise.all([service.api.kill('SIGTERM'), service.worker.kill('SIGTERM')])).toMatchObject([
    { code: 0 },
    { code: 0 },
  ]);
  expect(told()).toEqual([1, 1]);
});
