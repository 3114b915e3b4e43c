import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { loadConfig, Settings } from '../../src/config.js';
import { hours } from '../../src/platform/clock.js';
import { TEMPORAL_SERVER_VERSION } from '../../src/platform/embedded/temporal-programs.js';
import { DYNAMIC_SETTINGS, HISTORY_SHARDS, RETENTION_MS } from '../../src/platform/embedded/temporal-server.js';
import { projectRoot } from '../../src/platform/root.js';

/** docker-compose.yml fits what the code expects of it. */

interface Service {
  image: string;
  command?: string[];
  environment?: Record<string, string | number>;
  depends_on?: Record<string, object>;
  deploy?: { replicas: number };
  healthcheck?: { test: string[] };
  configs?: { source: string }[];
  ports?: string[];
  read_only?: boolean;
}
interface Compose {
  services: Record<string, Service>;
  configs: Record<string, { content: string }>;
}

const text = await readFile(join(projectRoot, 'docker-compose.yml'), 'utf8');
/** What the README puts into .env. */
const written: Record<string, string> = {
  MASTER_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
  POSTGRES_PASSWORD: 'owner',
  SERVICE_PASSWORD: 'service',
};
/** Fills in `${NAME}`, `${NAME:-default}` and `${NAME:?why it is needed}` as Compose does; `$$` is a dollar. */
const filledIn = text.replace(/\$\$|\$\{([A-Z_]+)(?::([-?])([^}]*))?\}/g, (all, name, kind, rest) => {
  if (all === '$$') return '$';
  const value = written[name] ?? (kind === '-' ? rest : undefined);
  if (value === undefined) throw new Error(`${name} is in no .env: ${rest}`);
  return value;
});
const { services, configs } = parse(filledIn, { merge: true }) as Compose;
const service = (name: string) => services[name] as Service;
const ours = { api: 'dist/src/api.js', worker: 'dist/src/worker.js', migrate: 'dist/src/migrate.js' } as const;

test.each(Object.entries(ours))('%s starts with the variables set for it, which are all settings', (name, script) => {
  const { environment = {}, command } = service(name);
  expect(command?.at(-1)).toBe(script);
  expect(Object.keys(environment).filter((setting) => !(setting in Settings.properties))).toEqual([]);
  const values = Object.entries(environment).map(([setting, value]) => [setting, String(value)]);
  // Production requires https, except for a loopback address.
  expect(loadConfig(name as keyof typeof ours, Object.fromEntries(values))).toMatchObject({ production: true });
});

test('every part depends on existing parts, and has a health check if others wait for it', () => {
  const missing = Object.entries(services).flatMap(([name, { depends_on = {} }]) =>
    Object.entries(depends_on).flatMap(([other, { condition }]: [string, { condition?: string }]) => {
      if (!(other in services)) return [`${name} depends on ${other}, which is not there`];
      const isBlind = condition === 'service_healthy' && !service(other).healthcheck;
      return isBlind ? [`${name} waits for the health of ${other}, which has no health check`] : [];
    }),
  );
  expect(missing).toEqual([]);
});

test('there are two apis behind one load balancer, and two workers', () => {
  expect([service('api').deploy?.replicas, service('worker').deploy?.replicas]).toEqual([2, 2]);
  expect(service('api').ports).toBeUndefined(); // two containers cannot share a port of the machine
  const balancer = configs[service('load-balancer').configs?.[0]?.source as string]?.content;
  const { port } = loadConfig('dev', {}).listen;
  expect(balancer).toContain(`server-template api 10 api:${port} check`);
  expect(balancer).toContain('GET uri /readyz');
  expect(service('load-balancer').ports).toEqual([`127.0.0.1:${port}:${port}`]);
});

test('the api trusts one forwarded address, the one that the load balancer has seen', () => {
  const balancer = configs['load-balancer']?.content ?? '';
  expect(balancer).toContain('http-request set-header X-Forwarded-For %[var(txn.client)]');
  expect(balancer).not.toContain('forwardfor'); // it appends to whatever the client sends
  expect(service('load-balancer').environment).toEqual({ FRONT_PROXY: '127.0.0.1' });
});

test('our containers, and all others that can, have no root rights and no writable disk', () => {
  const confined = { cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'], tmpfs: ['/tmp'] };
  const open = Object.keys(services).filter(
    (name) => !isDeepStrictEqual({ ...service(name), ...confined }, service(name)),
  );
  expect(open).toEqual(['postgres', 'grafana']);
  // Compose copies the config into these two.
  const writable = Object.keys(services).filter((name) => !service(name).read_only && !open.includes(name));
  expect(writable).toEqual(Object.keys(services).filter((name) => service(name).configs));
});

test('PostgreSQL has room for the connections of all processes', () => {
  const pools = 2 * loadConfig('dev', {}).database.poolSize;
  const [apis, workers] = [service('api'), service('worker')].map(({ deploy }) => deploy?.replicas ?? 1);
  const temporal = 4 * (20 + 10); // of each Temporal service: SQL_MAX_CONNS and SQL_VIS_MAX_CONNS
  const most = /max_connections=(\d+)/.exec(service('postgres').command?.join(' ') ?? '')?.[1];
  expect(Number(most)).toBeGreaterThan(pools * (apis as number) + (pools + 1) * (workers as number) + temporal);
});

test('Temporal has one version, that of `npm run cluster`, and the same settings', async () => {
  const images = Object.values(services).map(({ image }) => image);
  const temporal = images.filter((image) => /^temporalio\/(server|admin-tools):/.test(image));
  expect([...new Set(temporal.map((image) => image.split(':')[1]))]).toEqual([TEMPORAL_SERVER_VERSION]);
  const module = await readFile(join(projectRoot, 'tools/temporal-server/go.mod'), 'utf8');
  expect(/go\.temporal\.io\/server v(\S+)/.exec(module)?.[1]).toBe(TEMPORAL_SERVER_VERSION);
  expect(service('temporal').environment?.NUM_HISTORY_SHARDS).toBe(HISTORY_SHARDS);
  expect(parse(configs['temporal-dynamic']?.content ?? '')).toEqual(DYNAMIC_SETTINGS);
  const retention = /--retention (\d+)h/.exec(service('temporal-namespace').command?.at(-1) ?? '')?.[1];
  expect(hours(Number(retention))).toBe(RETENTION_MS);
});
