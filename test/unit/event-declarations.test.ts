import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { eventCatalogue } from '../../src/domain/events/catalogue.js';
import { reportEventFaults } from '../../src/domain/events/declarations.js';
import { eventRow } from '../../src/domain/events/record.js';
import { buildApp } from '../../src/http/app.js';
import { createHttpMetrics } from '../../src/http/metrics.js';
import { runInContext } from '../../src/platform/context.js';
import { projectRoot } from '../../src/platform/root.js';

const recorded = (action: Parameters<typeof eventRow>[0], declaredEvents?: string[], metadata = {}) =>
  runInContext({ correlationId: 'a', actor: { type: 'system', id: null }, declaredEvents }, () =>
    eventRow(action, { resourceId: 'b', metadata }),
  );

test.each(['auth.mfa_grace_', 'role_assignment.'])(
  'all of %s* is on the identity surface of the audit log',
  (family) => {
    const actions = Object.entries(eventCatalogue).filter(([action]) => action.startsWith(family));
    expect(actions.length).toBeGreaterThan(4);
    const hidden = actions.filter(([, declared]) => !('identityVisible' in declared && declared.identityVisible));
    expect(hidden.map(([action]) => action)).toEqual([]);
  },
);

test.each([
  ['session.refresh_reuse_detected', 'critical'],
  ['auth.access_denied', 'warning'],
  ['auth.identity_sign_in_failed', 'notice'],
] as const)('the severity of %s is that of its kind, %s, also when it reports a refusal', (action, severity) => {
  expect(eventCatalogue[action].severity).toBe(severity);
  const row = runInContext({ correlationId: 'a', actor: { type: 'system', id: null } }, () =>
    eventRow(action, { resourceId: 'b', outcome: 'denied' }),
  );
  expect(JSON.parse(row)).toMatchObject({ severity, outcome: 'denied' });
});

test('every type of event is named by a test of what records it', async () => {
  const folder = join(projectRoot, 'test');
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.test.ts'));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  const quoted = texts.map(
    (text) => new Set([...text.matchAll(/['`]([a-z_.]+)['`$]/g)].map(([, one]) => one as string)),
  );
  const isCutOff = (words: Set<string>, action: string) =>
    [...words].some((word) => /[._]$/.test(word) && action.startsWith(word) && words.has(action.slice(word.length)));
  const isNamed = (action: string) =>
    texts.some((text) => text.includes(action)) || quoted.some((words) => isCutOff(words, action));
  const unnamed = Object.keys(eventCatalogue).filter((action) => !isNamed(action));
  expect(unnamed.map((action) => `no file in test/ names ${action}`)).toEqual([]);
});

test('an operation records only events that it declares', () => {
  expect(recorded('node.moved', ['node.updated', 'node.moved'])).toContain('node.moved');
  expect(() => recorded('node.moved', ['node.updated'])).toThrow('node.moved is not among');
  expect(() => recorded('node.moved', [])).toThrow('node.moved is not among');
});

test('a request is held to its route’s declaration, also once its body is read', async () => {
  const record = async () => void eventRow('node.moved', { resourceId: 'b' });
  const app = await buildApp({
    baseUrl: 'http://localhost:3000',
    logger: undefined,
    trustProxy: false,
    health: { checks: {} },
    metrics: createHttpMetrics(new Registry()),
    surfaces: [
      async (surface) => {
        surface.post('/declared', { config: { events: ['node.moved'] } }, record);
        surface.post('/other', { config: { events: ['node.updated'] } }, record);
        surface.get('/silent', record);
      },
    ],
  });
  const statusOf = async (method: 'GET' | 'POST', url: string) =>
    (await app.inject({ method, url, ...(method === 'POST' && { payload: {} }) })).statusCode;
  expect(await statusOf('POST', '/declared')).toBe(200);
  expect(await statusOf('POST', '/other')).toBe(500);
  expect(await statusOf('GET', '/silent')).toBe(500);
  await app.close();
});

test('a refusal needs no declaration, nor does a process’s own event', () => {
  expect(recorded('auth.access_denied', [])).toContain('auth.access_denied');
  expect(recorded('node.moved')).toContain('node.moved');
});

test('an event has only documented fields', () => {
  expect(recorded('api_key.updated', undefined, { is_active: true })).toContain('is_active');
  expect(() => recorded('api_key.updated', undefined, { name: 'x' })).toThrow('name is not among the fields');
  expect(() => recorded('node.updated', undefined, { changed: ['parentNodeId'] })).toThrow('names that no API has');
});

test('in production a violation is logged, and the event is recorded', () => {
  const faults: string[] = [];
  reportEventFaults((fault) => faults.push(fault));
  expect(recorded('node.moved', [])).toContain('node.moved');
  expect(faults).toEqual([expect.stringContaining('node.moved')]);
});
