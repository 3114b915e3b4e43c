import { setTimeout as sleep } from 'node:timers/promises';
import { call } from '../../support/chaos/load.js';
import type { Seed } from '../../support/seed.js';
import type { Service } from '../../support/service.js';
import { until } from '../../support/until.js';
import { backlogOf, isBehind } from './backlog.js';
import { createClient } from './client.js';
import { apiKeys, roles } from './load/access.js';
import { createFeedReader } from './load/feed.js';
import { identities } from './load/identities.js';
import { adminLogins, logins, refreshing } from './load/tokens.js';
import { domains, invites, registrations, webhooks } from './load/waiting.js';
import type { Witnesses } from './witnesses.js';
import { type Actor, subscribedTypes, type World } from './world.js';

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
    waiting: backlogOf(service, () => isOver),
    end() {
      isOver = true;
    },
  };
}

/** How long a stopped load may take to finish: longer than a key stays taken after its request's process died. */
const finishWithinMs = 120_000;

/** In a light load each caller pauses this many times as long, and this many milliseconds more while much waits. */
const light = { pauses: 5, pauseMs: 10_000 };

/**
 * Runs the callers until `meanwhile` is over, and waits for what they have begun. While much waits for Temporal, they
 * give it nothing more to do; in a light load they do.
 * @returns the follower of the change feed, and for how many milliseconds there was load
 */
export async function underLoad(world: Running, meanwhile: () => Promise<void>, { isLight = false } = {}) {
  const { client } = world;
  const feed = createFeedReader(world);
  // In a light load people register although others still wait for their mail.
  const begun: Promise<void>[] = [];
  const registering = (lane: number): Actor => {
    const one = registrations(world, lane);
    return isLight ? { ...one, step: async () => void begun.push(stepOf(world, one)) } : one;
  };
  const actors = [
    ...[1, 2].map((lane) => identities(world, lane)),
    ...[1, 2, 3].map((lane) => refreshing(world, lane)),
    ...[1, 2].map(registering),
    ...[logins, adminLogins, roles, apiKeys, invites, webhooks, domains].map((actor) => actor(world)),
    feed.follower,
  ];
  const begunAt = Date.now();
  const running = actors.map(async (actor) => {
    const { everyMs, isDurable } = actor;
    while (!world.isOver()) {
      const hasToWait = isDurable === true && isBehind(world);
      if (hasToWait) await sleep(isLight ? light.pauseMs : 500);
      if (hasToWait && !isLight) continue;
      await stepOf(world, actor);
      await sleep(isLight ? light.pauses * everyMs : everyMs);
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
  await Promise.all(begun);
  clearTimeout(late);
  goOn();
  return { feed, loadMs: Date.now() - begunAt };
}

const stepOf = (world: Running, { name, step }: Actor): Promise<void> =>
  step().catch((error) => world.find(`${name}: ${error instanceof Error ? error.stack : error}`));

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
