import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { call } from '../../support/chaos-load.js';
import { until } from '../../support/chaos-until.js';
import { startMailSink } from '../../support/crash-mail-sink.js';
import { startDnsServer } from '../../support/dns-server.js';
import { patience } from '../../support/patience.js';
import { rows } from '../../support/registration.js';
import { seed as seedData } from '../../support/seed.js';
import { type Service, startService } from '../../support/service.js';
import { startReceiver } from '../../support/webhooks.js';
import { checkAll } from './checks/index.js';
import { type Attempt, createClient } from './client.js';
import { type Disruption, disrupt } from './disrupt.js';
import { type Kind, openLedger } from './ledger.js';
import { apiKeys, roles } from './load/access.js';
import { createFeedReader } from './load/feed.js';
import { identities } from './load/identities.js';
import { adminLogins, logins, refreshing } from './load/tokens.js';
import { domains, invites, registrations, webhooks } from './load/waiting.js';
import { planOf } from './plan.js';
import { createRandom } from './random.js';
import { watchTemporal } from './temporal-watch.js';
import { subscribedTypes, type World } from './world.js';

export interface RunOptions {
  seed: number;
  /** How long faults go on, in milliseconds. */
  ms: number;
  /** How long a part stands still that is stopped. */
  stopMs: number;
  say(line: string): void;
}

export interface FaultsRun {
  seed: number;
  plan: Disruption[];
  attempts: Attempt[];
  acknowledged: [Kind, number][];
  /** What was looked at afterwards, with how many of it there were. */
  looked: [what: string, count: number][];
  /** What must not be. Empty: all is well. */
  findings: string[];
  /** Families of refresh tokens that an outage longer than their window has ended. */
  ended: string[];
  loadMs: number;
  settledMs: number;
}

const settings = {
  WEBHOOK_RETRY_SCHEDULE: '1s,1s,2s,2s,5s,5s,5s,5s,10s,10s,10s,10s,10s,10s',
  DOMAIN_POLL_SCHEDULE: '600x2s',
};

/** Starts the whole service, puts it under load, breaks it as the seed says, mends it, and looks at what became of everything. */
export async function runFaults({ seed, ms, stopMs, say }: RunOptions): Promise<FaultsRun> {
  const stops: (() => Promise<unknown>)[] = [];
  try {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-faults-'));
    stops.push(() => rm(folder, { recursive: true, force: true }));
    const [mails, dns] = await Promise.all([startMailSink(), startDnsServer()]);
    stops.push(mails.stop, dns.stop);
    const random = createRandom(seed);
    // One call in six is refused, so that there are retries as well.
    const receiver = await startReceiver((_message, _before, response) =>
      response.writeHead(random.next() < 1 / 6 ? 503 : 204).end(),
    );
    stops.push(receiver.stop);
    say('starting PostgreSQL, Temporal, two apis and two workers');
    const env = { ...settings, SMTP_URL: mails.url, DNS_SERVERS: dns.address };
    const service = await startService({ ownPostgres: true, keepHistories: true, copies: 2, env });
    stops.push(service.stop);
    const world = await worldOf({ service, ledger: openLedger(join(folder, 'ledger')), mails, dns, receiver, random });
    return await loadAndBreak(world, { seed, ms, stopMs, say });
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

type Around = Pick<World, 'service' | 'ledger' | 'mails' | 'dns' | 'receiver' | 'random'>;
type Running = World & { findings: string[]; end(): void };

async function worldOf(around: Around): Promise<Running> {
  const { service, receiver } = around;
  const seed = await seedData(service.databaseUrl);
  const findings: string[] = [];
  let isOver = false;
  const login = await fetch(`${service.baseUrl}/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(seed.admin),
  });
  const { access_token: adminToken } = ((await login.json()) as { data: { access_token: string } }).data;
  const subscription = await fetch(`${service.baseUrl}/api/v1/webhooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': seed.apiKey },
    body: JSON.stringify({ url: receiver.url('/main'), event_types: subscribedTypes }),
  });
  if (subscription.status !== 201) throw new Error(`subscribe: ${subscription.status} ${await subscription.text()}`);
  return {
    ...around,
    seed,
    adminToken,
    client: createClient(service.apis.map(({ healthUrl }) => healthUrl)),
    findings,
    ended: [],
    find: (what) => void findings.push(what),
    isOver: () => isOver,
    isBehind: backlogOf(around.service, () => isOver),
    end() {
      isOver = true;
    },
  };
}

/** Looks every second what waits for Temporal; where nobody can say, it is as it was. */
function backlogOf({ ownerUrl }: Service, isOver: () => boolean): () => boolean {
  let waiting = 0;
  void (async () => {
    for (; !isOver(); await sleep(1_000)) {
      const [row] = await rows(ownerUrl, backlog).catch(() => []);
      waiting = Number(row?.count ?? waiting);
    }
  })();
  return () => waiting > 30;
}
const backlog = `select (select count(*) from outbox) + (select count(*) from emails where status = 'pending')
  + (select count(*) from webhook_deliveries where status = 'pending') as count`;

/** A load that has been stopped gets this long for what it has begun: longer than a key stays taken whose request died. */
const finishWithinMs = 120_000;

async function loadAndBreak(world: Running, { seed, ms, stopMs, say }: RunOptions): Promise<FaultsRun> {
  const { service, client, ledger, findings, ended } = world;
  const feed = createFeedReader(world);
  const actors = [
    ...[1, 2].map((lane) => identities(world, lane)),
    ...[1, 2, 3].map((lane) => refreshing(world, lane)),
    ...[1, 2].map((lane) => registrations(world, lane)),
    ...[logins, adminLogins, roles, apiKeys, invites, webhooks, domains].map((actor) => actor(world)),
    feed.follower,
  ];
  const begunAt = Date.now();
  const running = actors.map(async ({ name, everyMs, isDurable, step }) => {
    while (!world.isOver()) {
      if (isDurable && world.isBehind()) {
        await sleep(500);
        continue;
      }
      await step().catch((error) => world.find(`${name}: ${error instanceof Error ? error.stack : error}`));
      await sleep(everyMs);
    }
  });
  const temporal = watchTemporal(service, say);
  const plan = await disrupt(service, planOf({ seed, ms, stopMs }), { say, find: world.find, temporal });
  await sleep(2_000);
  say('no more faults: what was begun is finished');
  world.end();
  await healed(service);
  let goOn = () => {};
  const late = setTimeout(() => {
    world.find(`there are requests without a decision after ${finishWithinMs / 1000} s of health`);
    goOn = client.giveUp();
  }, finishWithinMs);
  await Promise.all(running);
  clearTimeout(late);
  goOn();
  const loadMs = Date.now() - begunAt;
  const looked = await checkAll(world, feed);
  await temporal.stop();
  for (const part of [...service.apis, ...service.workers]) {
    findings.push(...part.lines.filter((line) => line.includes('unexpected error')).map((line) => line.slice(0, 600)));
  }
  return {
    seed,
    plan,
    attempts: client.attempts,
    acknowledged: ledger.counts(),
    looked: [...looked, ["restarts of Temporal's dev server, whose SQLite stayed interrupted", temporal.restarts]],
    findings: [...client.wrong, ...findings],
    ended,
    loadMs,
    settledMs: Date.now() - begunAt - loadMs,
  };
}

async function healed({ apis, workers }: Service): Promise<void> {
  for (const { healthUrl } of [...apis, ...workers]) {
    await until(
      `${healthUrl} is ready`,
      async () => {
        const answer = await call(`${healthUrl}/readyz`);
        return answer.kind === 'answer' && answer.status === 200 && JSON.parse(answer.body).status === 'ok';
      },
      { timeoutMs: patience },
    );
  }
}
