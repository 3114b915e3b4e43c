import type { startMailSink } from '../../support/crash/mail-sink.js';
import type { TestDnsServer } from '../../support/dns-server.js';
import type { Random } from '../../support/random.js';
import type { Seed } from '../../support/seed.js';
import type { Service } from '../../support/service.js';
import type { startReceiver } from '../../support/webhooks.js';
import { type Client, type Decided, newKey, type Request } from './client.js';
import type { Ledger } from './ledger.js';

/** What the load and the checks after it work with. */
export interface World {
  service: Service;
  seed: Seed;
  client: Client;
  ledger: Ledger;
  random: Random;
  mails: Awaited<ReturnType<typeof startMailSink>>;
  dns: TestDnsServer;
  receiver: Awaited<ReturnType<typeof startReceiver>>;
  /** An access token of the Account's owner, which is valid for minutes, and when it was issued. */
  admin: { token: string; since: number };
  /** Families of refresh tokens that ended because a lost answer was not requested again in time. */
  ended: string[];
  /** Records a finding of what is wrong. */
  find(what: string): void;
  isOver(): boolean;
  /** How much waits for Temporal. */
  waiting(): number;
}

/** The event types of the main receiver: each happens once to a resource. */
export const subscribedTypes = ['identity.created', 'role.created', 'role_assignment.created'];

/** A caller of the load, which repeats its step until the run is over. */
export interface Actor {
  name: string;
  /** The pause between two steps. */
  everyMs: number;
  /** Whether each step gives Temporal work. */
  isDurable?: boolean;
  step(): Promise<void>;
}

/** Calls with the API key of the Environment. A write gets an `Idempotency-Key`, unless it says to have none. */
export const viaApi = ({ client, seed }: World, name: string, request: Request): Promise<Decided | null> =>
  client.decided(name, withKey({ ...request, path: `/api/v1${request.path}`, headers: { 'x-api-key': seed.apiKey } }));

/** Calls as the Account's owner. */
export async function viaPortal(world: World, name: string, request: Request): Promise<Decided | null> {
  const { client, seed, admin } = world;
  if (Date.now() - admin.since > renewedAfterMs) {
    const since = Date.now();
    const login = await client.decided('admin sign in', { path: '/v1/auth/login', json: seed.admin });
    const token = dataOf<{ access_token: string }>(world, 'sign in again', login, 200)?.access_token;
    if (token) world.admin = { token, since };
  }
  const path = `/portal/v1/accounts/${seed.accountSlug}${request.path}`;
  const headers = { authorization: `Bearer ${world.admin.token}` };
  return client.decided(name, withKey({ ...request, path, headers }));
}

/** Renews the access token: on a slow machine a run takes longer than a token is valid. */
const renewedAfterMs = 120_000;

const withKey = (request: Request): Request => {
  const isWrite = request.json !== undefined || (request.method !== undefined && request.method !== 'GET');
  return isWrite ? { idempotencyKey: newKey(), ...request } : request;
};

/** Returns the `data` of an answer; null if there was no decision, or another one, which is recorded. */
export function dataOf<T>(world: Pick<World, 'find'>, what: string, decided: Decided | null, status: number): T | null {
  if (!isStatus(world, what, decided, status)) return null;
  return (JSON.parse((decided as Decided).body) as { data: T }).data;
}

export function isStatus(
  { find }: Pick<World, 'find'>,
  what: string,
  decided: Decided | null,
  status: number,
): decided is Decided {
  if (decided === null || decided.status === status) return decided !== null;
  if (isAnswerLost(decided)) return false;
  const doubt = decided.isAmbiguous ? ` (asked again after ${decided.inDoubtMs} ms in doubt)` : '';
  find(`${what}: ${decided.status} instead of ${status}${doubt}: ${decided.body.slice(0, 300)}`);
  return false;
}

/** Whether an attempt whose answer was lost with its process took effect; only the events say what it did. */
const isAnswerLost = ({ isAmbiguous, status, body }: Decided): boolean =>
  isAmbiguous && status === 409 && body.includes('idempotency.answer_lost');

/** Whether something was deleted: by this attempt, or by an earlier one without an answer. */
export function isGone(world: Pick<World, 'find'>, what: string, decided: Decided | null, status = 204): boolean {
  if (decided && (isAnswerLost(decided) || (decided.isAmbiguous && decided.status === 404))) return true;
  return isStatus(world, what, decided, status);
}
