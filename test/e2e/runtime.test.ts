import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lastOfFormer } from '../../entities/migrations/former.js';
import { freePort } from '../../src/platform/embedded/ports.js';
import { descendantsOf, stillAlive } from '../support/chaos/processes.js';
import { type Script, startScript } from '../support/chaos/start.js';
import { asOwner, newDatabase, serviceUrl } from '../support/database.js';
import { until } from '../support/until.js';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-runtime-'));
  await chmod(folder, 0o755); // or root's PostgreSQL, which runs as another user, would keep its data elsewhere
  cleanUps.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
function start(...args: Parameters<typeof startScript>): Script {
  const script = startScript(...args);
  cleanUps.push(script.end);
  return script;
}

describe('npm start', () => {
  const ports = async () => ({
    PORT: String(await freePort()),
    TEMPORAL_UI_PORT: String(await freePort()),
    INBOX_PORT: String(await freePort()),
  });
  const ready = async (folder: string, env: Record<string, string>) => {
    const service = start('dev', { DATA_DIR: folder, BREACH_CHECK_URL: 'off', ...env });
    await service.says('Gatehouse is ready.');
    return { service, demo: await demoIn(folder) };
  };
  const demoIn = async (folder: string) => JSON.parse(await readFile(join(folder, 'demo.json'), 'utf8'));
  /** Retries as every client should: a request that was refused because the machine is busy, when the answer says. */
  async function signIn(demo: { base_url: string; admin: object }): Promise<Response> {
    for (let tries = 1; ; tries++) {
      const answer = await fetch(`${demo.base_url}/v1/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(demo.admin),
      });
      if (answer.status !== 503 || tries === 30) return answer;
      await sleep(Number(answer.headers.get('retry-after')) * 1000);
    }
  }

  test('an empty folder becomes a running demo with its data written down; Ctrl-C ends it all, and a second start continues it', async () => {
    const folder = await newFolder();
    const env = await ports();
    const first = await ready(folder, env);
    expect(first.demo).toMatchObject({
      base_url: `http://localhost:${env.PORT}`,
      temporal_address: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      temporal_ui_url: `http://127.0.0.1:${env.TEMPORAL_UI_PORT}`,
      inbox_url: `http://127.0.0.1:${env.INBOX_PORT}`,
      database_url: expect.stringMatching(/^postgres:\/\/gatehouse_service:/),
      account_slug: expect.any(String),
      application_slug: expect.any(String),
      environment_slug: 'development',
      application_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      environment_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      admin: { email: expect.stringContaining('@'), password: expect.any(String) },
      api_key: expect.stringMatching(/^ghk_test_/),
      client: { client_id: expect.any(String), redirect_uri: expect.stringMatching(/^http/) },
      identities: expect.arrayContaining([{ email: expect.stringContaining('@'), password: expect.any(String) }]),
      sign_in_url: expect.stringContaining('/oauth/authorize?'),
    });
    for (const name of ['demo.json', 'secrets.json']) {
      expect([name, (await stat(join(folder, name))).mode & 0o777]).toEqual([name, 0o600]);
    }
    expect((await signIn(first.demo)).status).toBe(200);
    for (const url of [first.demo.sign_in_url, first.demo.temporal_ui_url, `${first.demo.inbox_url}/email`]) {
      expect([url, (await fetch(url)).status]).toEqual([url, 200]);
    }
    const made = await fetch(`${first.demo.base_url}/api/v1/identities`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': first.demo.api_key },
      body: JSON.stringify({ email: 'kept@example.com' }),
    });
    expect(made.status).toBe(201);

    const family = descendantsOf(first.service.pid);
    expect(family.length).toBeGreaterThan(5);
    expect(await first.service.interrupt()).toEqual({ code: 0, signal: null });
    expect(stillAlive(family)).toEqual([]);
    expect(first.service.out.stderr).toBe('');

    const second = await ready(folder, env);
    // A default port may differ, if a concurrent test has taken it meanwhile.
    const asked = (demo: object) =>
      JSON.stringify(demo).replace(/(?<=(?:127\.0\.0\.1|localhost)(?::|%3A))\d+/g, (port) =>
        Object.values(env).includes(port) ? port : 'any',
      );
    expect(asked(second.demo)).toBe(asked(first.demo));
    expect((await signIn(second.demo)).status).toBe(200);
    const listed = await fetch(`${second.demo.base_url}/api/v1/identities?q=kept@example.com`, {
      headers: { 'x-api-key': second.demo.api_key },
    });
    expect(((await listed.json()) as { items: unknown[] }).items).toHaveLength(1);
    expect(await second.service.interrupt()).toEqual({ code: 0, signal: null });
  });

  test('two demos run side by side with their own ports and data; one that is killed takes only its own parts with it', async () => {
    // The second one gets no ports, and has to find free ones.
    const [one, other] = await Promise.all([ready(await newFolder(), await ports()), ready(await newFolder(), {})]);
    const shared = ['base_url', 'temporal_address', 'temporal_ui_url', 'inbox_url', 'database_url', 'api_key'].filter(
      (name) => one.demo[name] === other.demo[name],
    );
    expect(shared).toEqual([]);
    expect((await signIn(one.demo)).status).toBe(200);
    expect((await signIn({ ...other.demo, admin: one.demo.admin })).status).toBe(401);
    const family = descendantsOf(other.service.pid);
    process.kill(other.service.pid, 'SIGKILL');
    await until('what it had started has ended with it', () => stillAlive(family).length === 0 || null);
    expect((await signIn(one.demo)).status).toBe(200);
    expect(await one.service.interrupt()).toEqual({ code: 0, signal: null });
  });

  test.each(['PORT', 'TEMPORAL_UI_PORT', 'INBOX_PORT'])(
    '%s in use is reported in one line, and leaves nothing running',
    async (name) => {
      const taken = await listening();
      const folder = await newFolder();
      const service = start('dev', { DATA_DIR: folder, ...(await ports()), [name]: String(taken) });
      const family = new Map<number, string>();
      const watch = setInterval(() => {
        for (const { pid, identity } of descendantsOf(service.pid)) family.set(pid, identity);
      }, 20);
      const exit = await service.exited;
      clearInterval(watch);
      expect(exit.code).toBeGreaterThan(0);
      expect(linesOf(service.out.stderr)).toEqual([expect.stringMatching(`^gatehouse start: .*${name}.*${taken}`)]);
      expect(stillAlive([...family].map(([pid, identity]) => ({ pid, identity })))).toEqual([]);
    },
  );

  test('Ctrl-C during the preparation ends it, and leaves nothing running', async () => {
    const service = start('dev', { DATA_DIR: await newFolder(), ...(await ports()) });
    const family = new Map<number, string>();
    const watch = setInterval(() => {
      for (const { pid, identity } of descendantsOf(service.pid)) family.set(pid, identity);
    }, 20);
    await service.says('Creating the PostgreSQL data folder');
    expect(await service.interrupt()).toEqual({ code: 0, signal: null });
    clearInterval(watch);
    expect([service.out.stderr, family.size > 0]).toEqual(['', true]);
    const seen = [...family].map(([pid, identity]) => ({ pid, identity }));
    await until('everything that was on its way up has ended', () => stillAlive(seen).length === 0);
  });
});

async function listening(): Promise<number> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as { port: number }).port;
}
const linesOf = (text: string) => text.split('\n').filter(Boolean);
const masterKeys = `test:${Buffer.alloc(32, 7).toString('base64')}`;

describe.each(['api', 'worker'] as const)('the %s reports each reason why it cannot start in one line', (name) => {
  const settings = async (changes: Record<string, string> = {}) => ({
    PORT: String(await freePort()),
    METRICS_PORT: '0',
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    SMTP_URL: 'smtp://127.0.0.1:1',
    MASTER_KEYS: masterKeys,
    ...changes,
  });
  async function refusals(env: Record<string, string>): Promise<string[]> {
    const { exited, out } = start(name, env);
    const { code } = await exited;
    expect([code, out.stdout]).toEqual([1, '']);
    const lines = linesOf(out.stderr);
    for (const line of lines) expect(line).toMatch(new RegExp(`^gatehouse ${name}: `));
    expect(out.stderr).not.toMatch(/\bat .*:\d+:\d+|node_modules|\.[jt]s\b/);
    return lines.map((line) => line.slice(`gatehouse ${name}: `.length));
  }

  test('a database that cannot be reached', async () => {
    const env = await settings({ DATABASE_URL: 'postgres://gatehouse_service:secret-word@127.0.0.1:1/gatehouse' });
    const lines = await refusals(env);
    expect(lines).toEqual([expect.stringMatching(/^PostgreSQL does not answer: .*127\.0\.0\.1:1/)]);
    expect(lines[0]).not.toContain('secret-word');
  });

  test('a database host name that does not exist', async () => {
    const env = await settings({ DATABASE_URL: 'postgres://gatehouse_service:x@database.invalid/gatehouse' });
    expect(await refusals(env)).toEqual([expect.stringMatching(/^PostgreSQL does not answer: .*database\.invalid/)]);
  });

  test('a role or a database that does not exist', async () => {
    const url = new URL(serviceUrl(process.env.GATEHOUSE_TEST_SERVER ?? ''));
    url.pathname = '/there_is_no_such_database';
    const [line, ...more] = await refusals(await settings({ DATABASE_URL: url.href }));
    expect([line, more]).toEqual([expect.stringContaining('there_is_no_such_database'), []]);
    url.username = 'nobody_at_all';
    expect(await refusals(await settings({ DATABASE_URL: url.href }))).toEqual([
      expect.stringMatching(/^PostgreSQL refuses the connection: .*nobody_at_all/),
    ]);
  });

  test('a schema that is missing or old', async () => {
    const database = await newDatabase({ poolSize: 1 });
    cleanUps.push(database.close);
    const env = await settings({ DATABASE_URL: database.url });
    await asOwner((client) => client.query('update migrations set name = $1', [lastOfFormer]), database.ownerUrl);
    expect(await refusals(env)).toEqual([expect.stringMatching(/^the schema is old.*npm run migrate/)]);
    await asOwner((client) => client.query('drop table migrations'), database.ownerUrl);
    expect(await refusals(env)).toEqual([expect.stringMatching(/^there is no schema.*npm run migrate/)]);
  });

  test('all settings that production requires are missing: one error names them all', async () => {
    const lines = await refusals({ NODE_ENV: 'production' });
    const required = ['DATABASE_URL', 'TEMPORAL_ADDRESS', 'MASTER_KEYS', 'BASE_URL'];
    if (name === 'worker') required.push('SMTP_URL');
    expect(lines.map((line) => line.split(' ')[0]).sort()).toEqual(required.sort());
  });

  test.each<Record<string, string>>([
    {
      PORT: 'eighty',
      METRICS_PORT: '-1',
      MASTER_KEYS: 'test:c2hvcnQ=',
      BASE_URL: 'localhost',
      LOG_LEVEL: 'loud',
      NODE_ENV: 'prod',
      RATE_LIMITS: 'maybe',
      REGISTRATION_TTL: 'a day',
      DATABASE_URL: 'nonsense',
      DATABASE_POOL_SIZE: '0',
      SMTP_URL: 'http://localhost',
      TRUST_PROXY: 'everybody',
      WEBHOOK_ALLOW_PRIVATE_ADDRESSES: '10.0.0.0/99',
      OUTBOUND_ALLOWED_HOSTS: 'https://hooks.example.com',
      BREACH_CHECK_URL: 'no',
      TEMPORAL_ADDRESS: 'http://localhost:7233/x',
      MAIL_FROM: 'nobody',
    },
    {
      PORT: '70000',
      MASTER_KEYS: 'nonsense',
      BASE_URL: 'https://id.example.com/path',
      DATABASE_URL: 'http://localhost/gatehouse',
      SMTP_URL: 'mail.example.com',
      TRUST_PROXY: '10.0.0.0/8,0.0.0.0/0',
      WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'yes',
      TEMPORAL_ADDRESS: 'no port',
      MAIL_FROM: 'Gatehouse <a@example.com, b@example.com>',
      INTENT_TTL: '-1h',
    },
  ])('all unreadable settings are named at once, without their values (%#)', async (unreadable) => {
    const database = serviceUrl(process.env.GATEHOUSE_TEST_SERVER ?? '');
    const lines = await refusals(await settings({ DATABASE_URL: database, ...unreadable }));
    expect(lines.map((line) => line.split(' ')[0]).sort()).toEqual(Object.keys(unreadable).sort());
    const mayBeSecret = ['MASTER_KEYS', 'DATABASE_URL', 'SMTP_URL'].map((setting) => ` ${unreadable[setting]}`);
    for (const value of mayBeSecret) expect(lines.join('\n')).not.toContain(value);
  });
});

test('the api says in one line that its port is in use', async () => {
  const database = await newDatabase({ poolSize: 1 });
  cleanUps.push(database.close);
  const port = await listening();
  const { exited, out } = start('api', {
    HOST: '127.0.0.1',
    PORT: String(port),
    METRICS_PORT: '0',
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    MASTER_KEYS: masterKeys,
    DATABASE_URL: database.url,
    LOG_LEVEL: 'warn',
  });
  expect((await exited).code).toBe(1);
  expect(linesOf(out.stderr)).toEqual([`gatehouse api: port ${port} is in use`]);
});
