import { answered, portal, refreshEndUser, signInAdmin, signInEndUser, type Tokens } from '../support/chaos/client.js';
import { call, type Outcome, type Sent, startLoad, statusOf, summary } from '../support/chaos/load.js';
import { type Seed, seed } from '../support/seed.js';
import { type Service, startService } from '../support/service.js';
import { until } from '../support/until.js';

let service: Service;
let data: Seed;
beforeAll(async () => {
  service = await startService({ ownPostgres: true });
  data = await seed(service.databaseUrl);
});
afterAll(() => service?.stop());

/** Starts eight independent callers that read and write, and records what was acknowledged to them. */
async function startCallers() {
  const { me, clients, createClient } = await portal(service, data);
  const created: string[] = [];
  const refreshTokens = [await signInEndUser(service, data), await signInEndUser(service, data)];
  const refreshing = (i: number) => async () => {
    const outcome = await refreshEndUser(service, data, refreshTokens[i] as string);
    if (statusOf(outcome) === 200) refreshTokens[i] = answered<Tokens>(outcome).refresh_token;
    return outcome;
  };
  const load = startLoad({
    'sign-in': () => signInAdmin(service, data),
    'refresh A': refreshing(0),
    'refresh B': refreshing(1),
    'key set': () => call(`${service.baseUrl}/.well-known/jwks.json`),
    me: me,
    clients: () => clients(),
    userinfo: () => call(`${service.baseUrl}/oauth/userinfo`, { headers: { authorization: 'Bearer nonsense' } }),
    'create client': async () => {
      const outcome = await createClient();
      if (statusOf(outcome) === 201) created.push(answered<{ data: { id: string } }>(outcome, 201).data.id);
      return outcome;
    },
  });
  return { load, created, refreshTokens };
}

const checksOf = async (url: string) => {
  const answer = await fetch(`${url}/readyz`);
  return { status: answer.status, checks: ((await answer.json()) as { checks: Record<string, string> }).checks };
};
/** Success, or the refusal of an invalid token. */
const isFine = (outcome: Outcome) => [200, 201, 401].includes(statusOf(outcome) as number);
const isUnavailable = (outcome: Outcome) =>
  outcome.kind === 'answer' && outcome.status === 503 && /^[1-9]\d*$/.test(String(outcome.headers['retry-after']));
const names = (sent: readonly Sent[]) => new Set(sent.filter(({ outcome }) => isFine(outcome)).map(({ name }) => name));

test.each(['SIGQUIT', 'SIGKILL'] as const)(
  'PostgreSQL is ended by %s and restarted under load: 503 with Retry-After meanwhile, and nothing acknowledged is lost',
  async (signal) => {
    const pids = [service.api.pid, service.worker.pid];
    const { load, created, refreshTokens } = await startCallers();
    await until('every caller was answered', () => names(load.all).size === 8);

    await service.postgres.kill(signal);
    const endedAt = Date.now();
    await until('the api says that the database is away', async () => {
      const { status, checks } = await checksOf(service.baseUrl);
      return status === 503 && checks.database === 'unavailable';
    });
    expect((await checksOf(service.worker.healthUrl)).checks.database).toBe('unavailable');
    expect(statusOf(await call(`${service.baseUrl}/healthz`))).toBe(200);
    expect(statusOf(await call(`${service.worker.healthUrl}/healthz`))).toBe(200);
    // The key set is cached for a minute, and an invalid token needs no database.
    const needy = () =>
      load.all.filter((sent) => sent.startedAt > endedAt && !['key set', 'userinfo'].includes(sent.name));
    await until('callers were refused', () => needy().length > 20);
    const refused = needy();

    await service.postgres.start();
    const upAt = Date.now();
    const since = () => load.all.filter((sent) => sent.startedAt > upAt);
    await until('every caller is answered again', () => names(since()).size === 8);
    await until('api and worker are ready', async () => {
      const both = await Promise.all([checksOf(service.baseUrl), checksOf(service.worker.healthUrl)]);
      return both.every(({ status }) => status === 200);
    });
    await load.stop();

    const wrong = load.all.filter(({ outcome }) => !isFine(outcome) && !isUnavailable(outcome));
    expect(wrong.map(({ name, outcome }) => [name, outcome])).toEqual([]);
    expect(service.api.lines.filter((line) => line.includes('unexpected error'))).toEqual([]);
    expect(summary(refused.filter(({ outcome }) => !isUnavailable(outcome)))).toBe('');

    expect([service.api.pid, service.worker.pid]).toEqual(pids);
    for (const token of refreshTokens) expect(statusOf(await refreshEndUser(service, data, token))).toBe(200);
    const { client } = await portal(service, data);
    for (const id of created) expect([id, statusOf(await client(id))]).toEqual([id, 200]);
    expect(created.length).toBeGreaterThan(0);
  },
);
