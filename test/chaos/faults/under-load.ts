import { setTimeout as sleep } from 'node:timers/promises';
import { call } from '../../support/chaos/load.js';
import { rowsAsOwner } from '../../support/database.js';
import type { Seed } from '../../support/seed.js';
import type { Service } from '../../support/service.js';
import { until } from '../../support/until.js';
import { createClient } from './client.js';
import { apiKeys, roles } from './load/access.js';
import { createFeedReader } from './load/feed.js';
import { identities } from './load/identities.js';
import { adminLogins, logins, refreshing } from './load/tokens.js';
import { domains, invites, registrations, webhooks } from './load/waiting.js';
import type { Witnesses } from './witnesses.js';
import { subscribedTypes, type World } from './world.js';

export type Running = World & {
  /** Recorded findings of what is wrong. */
  findings: string[];
  end(): void;
};

/**
 * Returns a world with a signed-in administrator and a subscription to start from.
 * @param origins of the apis that the load balancer knows; read at each request
 */
export async function worldOf(
  service: Service,
  seed: Seed,
  { ledger, mails, dns, receiver, random }: Witnesses,
  origins: readonly string[],
): Promise<Running> {
  const findings: string[] = [];
  let isOver = false;
  const login = await fetch(`${origins[0]}/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(seed.admin),
  });
  const { access_token: token } = ((await login.json()) as { data: { access_token: string } }).data;
  const subscription = await fetch(`${origins[0]}/api/v1/webhooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': seed.apiKey },
    body: JSON.stringify({ url: receiver.url('/main'), event_types: subscribedTypes }),
  });
  if (subscription.status !== 201) throw new Error(`subscribe: ${subscription.status} ${await subscription.text()}`);
  return {
    service,
    seed,
    ledger,
    mails,
    dns,
    receiver,
    random,
    findings,
    admin: { token, since: Date.now() },
    client: createClient(origins),
    ended: [],
    find: (what) => void findings.push(what),
    isOver: () => isOver,
    isBehind: backlogOf(service, () => isOver),
    end() {
      isOver = true;
    },
  };
}

/** Checks every second how much waits for Temporal; keeps the last value while the database cannot answer. */
function backlogOf({ ownerUrl }: Service, isOver: () => boolean): () => boolean {
  let waiting = 0;
  void (async () => {
    for (; !isOver(); await sleep(1_000)) {
      const [row] = await rowsAsOwner(ownerUrl, backlog).catch(() => []);
      waiting = Number(row?.count ?? waiting);
    }
  })();
  return () => waiting > 30;
}
const backlog = `select (select count(*) from outbox) + (select count(*) from emails where status = 'pending')
  + (select count(*) from webhook_deliveries where status = 'pending') as count`;

/** How long a stopped load may take to finish: longer than a key stays taken after its request's process died. */
const finishWithinMs = 120_000;

/**
 * Runs the callers until `meanwhile` is over, and waits for what they have begun.
 * @returns the follower of the change feed, and for how many milliseconds there was load
 */
export async function underLoad(world: Running, meanwhile: () => Promise<void>) {
  const { client } = world;
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
  try {
    await meanwhile();
  } finally {
    world.end();
  }
  await healed(world.service);
  let goOn = () => {};
  const late = setTimeout(() => {
    world.find(`there are requests without a decision after ${finishWithinMs / 1000} s of health`);
    goOn = client.giveUp();
  }, finishWithinMs);
  await Promise.all(running);
  clearTimeout(late);
  goOn();
  return { feed, loadMs: Date.now() - begunAt };
}

async function healed({ apis, workers }: Service): Promise<void> {
  for (const { healthUrl } of [...apis, ...workers]) {
    await until(`${healthUrl} is ready`, async () => {
      const answer = await call(`${healthUrl}/readyz`);
      return answer.kind === 'answer' && answer.status === 200 && JSON.parse(answer.body).status === 'ok';
    });
  }
}

/** Returns the lines of a process that report an unexpected error. */
export const unexpectedErrors = (lines: readonly string[]): string[] =>
  lines.filter((line) => line.includes('unexpected error')).map((line) => line.slice(0, 600));
