import { randomUUID } from 'node:crypto';
import { SsoDomain } from '../../../entities/sso-domain.js';
import { adminConnectionByAddress, identityConnectionFor } from '../../../src/domain/sso-connections/covering.js';
import { createDomainChecks, endOf } from '../../../src/domain/sso-domains/checks.js';
import { days, hours, minutes } from '../../../src/platform/clock.js';
import { createDns } from '../../../src/platform/dns.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, type TestAccount, type TestApi } from '../../support/api.js';
import { startApiBesideTemporal } from '../../support/api-beside-temporal.js';
import { type Call, callsOf } from '../../support/calls.js';
import { startDnsServer, type TestDnsServer } from '../../support/dns-server.js';
import { patience } from '../../support/patience.js';
import { createRandom, type Random } from '../../support/random.js';
import { byWeight, live, seedsOf } from '../../support/random-histories.js';

/**
 * Random histories of a domain that two Accounts and two organizations of the first one claim, prove and lose, while their
 * connections are switched on and off. Compared with the contract's rules (§8) in their plainest form: who has a
 * domain, and by which connection its people sign in.
 */

let api: TestApi;
let dns: TestDnsServer;
beforeAll(async () => {
  dns = await startDnsServer();
  api = await startApiBesideTemporal({ DNS_SERVERS: dns.address, DOMAIN_POLL_SCHEDULE: '2x1m,1h' });
});
afterAll(async () => {
  await api.stop();
  await dns.stop();
});

const schedule = { pauses: [minutes(1), minutes(1), hours(1)], recheckMs: hours(24), lapseAfterMs: hours(72) };
const life = minutes(62);
const inEnvironment = '/applications/portal/environments/development';

interface Claimant {
  account: TestAccount;
  /** Null for the Account itself. */
  organization: string | null;
  /** Of administrators for an Account, of end users for an organization. */
  connection: { id: string; path: string; isActive: boolean };
}
interface Claim {
  by: Claimant;
  id: string;
  record: { name: string; value: string };
  status: 'pending' | 'verified' | 'lapsed' | 'failed';
  failsAt: number;
  absentSince: number | null;
  nextCheckAt: number | null;
  isPublished: boolean;
}

class Model {
  claims: Claim[] = [];

  /** Whether somebody else has the domain, as far as one of them excludes the other. */
  isHeld = ({ by, id }: Claim) =>
    this.claims.some(
      (one) =>
        one.id !== id && one.status === 'verified' && (by.organization === null) === (one.by.organization === null),
    );
  holder = (isIt: (by: Claimant) => boolean) =>
    this.claims.find((one) => one.status === 'verified' && isIt(one.by))?.by ?? null;

  looked(claim: Claim, at: number): void {
    if (claim.isPublished) {
      if (this.isHeld(claim)) this.failed(claim);
      else Object.assign(claim, { status: 'verified', absentSince: null, nextCheckAt: at + schedule.recheckMs });
    } else if (claim.status === 'verified') this.missed(claim, at);
    else if (at >= claim.failsAt) this.failed(claim);
    else claim.nextCheckAt = claim.failsAt; // when it is looked up for the last time
  }
  private failed = (claim: Claim) => Object.assign(claim, { status: 'failed', absentSince: null, nextCheckAt: null });

  private missed(claim: Claim, at: number): void {
    // If nobody has looked for as long as it takes to lapse, the absence begins now.
    const isLate = claim.nextCheckAt !== null && at > claim.nextCheckAt + schedule.lapseAfterMs;
    const since = isLate ? at : (claim.absentSince ?? at);
    const lapses = since + schedule.lapseAfterMs;
    claim.absentSince = since;
    if (at >= lapses) Object.assign(claim, { status: 'lapsed', failsAt: at + life });
    claim.nextCheckAt = lapses > at ? Math.min(lapses, at + schedule.recheckMs) : at + schedule.recheckMs;
  }
}

interface World {
  model: Model;
  random: Random;
  claimants: Claimant[];
  /** Of the first Account's Environment, for everybody in it. */
  everybodys: Claimant['connection'];
  accounts: TestAccount[];
  domain: string;
}

/** Calls as an Owner who has just signed in. */
const asOwner = async (account: TestAccount): Promise<Call> =>
  callsOf(api, account.accountSlug, await account.as('owner'));

async function connect(account: TestAccount, path: string, more: object = {}): Promise<Claimant['connection']> {
  const call = await asOwner(account);
  const provider = {
    ...{ type: 'oidc', name: 'Acme', oidc_discovery_url: 'https://idp.example' },
    ...{ oidc_client_id: 'gatehouse', oidc_client_secret: 'secret', ...more },
  };
  const { id } = (await call('POST', path, provider)).json().data.connection;
  expect(outcomeOf(await call('POST', `${path}/${id}/activate`))).toBe('200');
  return { id, path, isActive: true };
}

async function newWorld(seed: number): Promise<World> {
  const accounts = [await newAccount(api), await newAccount(api)];
  const [first] = accounts as [TestAccount];
  const claimants: Claimant[] = [];
  for (const account of accounts)
    claimants.push({ account, organization: null, connection: await connect(account, '/sso/connections') });
  const path = `${inEnvironment}/sso-connections`;
  for (const name of ['Nord', 'Sued']) {
    const call = await asOwner(first);
    const organization = (await call('POST', `${inEnvironment}/organizations`, { name })).json().data.id;
    claimants.push({
      ...{ account: first, organization },
      connection: await connect(first, path, { organization_id: organization }),
    });
  }
  const domain = `d-${randomUUID()}.example`;
  const everybodys = await connect(first, path);
  return { model: new Model(), random: createRandom(seed), claimants, everybodys, accounts, domain };
}

const now = () => api.clock.now.getTime();
const pathOf = ({ organization }: Claimant) =>
  organization === null ? '/sso/domains' : `${inEnvironment}/organizations/${organization}/domains`;

async function claim({ model, random, claimants, domain }: World): Promise<void> {
  const by = random.of(claimants);
  const answer = await (await asOwner(by.account))('POST', pathOf(by), { domain });
  expect(outcomeOf(answer)).toBe('201');
  const { id, txt_record_name: name, txt_record_value: value } = answer.json().data;
  const known = model.claims.find((one) => one.by === by);
  const begun = {
    status: 'pending' as const,
    failsAt: now() + life,
    absentSince: null,
    nextCheckAt: now() + minutes(1),
  };
  if (!known) model.claims.push({ by, id, record: { name, value }, ...begun, isPublished: false });
  else {
    expect([id, value]).toEqual([known.id, known.record.value]);
    if (known.status === 'failed') Object.assign(known, begun);
  }
}

/** Publishes the record of a claim, or withdraws it. */
async function publish({ model, random }: World): Promise<void> {
  const chosen = random.of(model.claims);
  if (!chosen) return;
  chosen.isPublished = random.below(3) > 0;
  const { name } = chosen.record;
  const there = model.claims.filter((one) => one.isPublished && one.record.name === name);
  if (there.length === 0) dns.remove(name);
  else dns.set(name, { txt: there.map(({ record }) => record.value) });
}

/** Does what a person does who asks for a check, and sees that a claim has ended. */
async function look({ model, random }: World, chosen = random.of(model.claims)): Promise<void> {
  if (!chosen) return;
  const resolver = createDns({ servers: [dns.server], withinMs: patience });
  const checks = createDomainChecks({ db: api.database.db, now: () => api.clock.now, dns: resolver, schedule });
  model.looked(chosen, now());
  const claim = await api.database.db.transaction('system', (tx) => tx.findOneByOrFail(SsoDomain, { id: chosen.id }));
  expect((await checks.check(chosen.id, endOf(claim))).status).toBe(chosen.status);
}

/** Does what the process of a claim does: waits for the next look. */
async function lookWhenDue(it: World): Promise<void> {
  const chosen = it.random.of(it.model.claims.filter(({ nextCheckAt }) => nextCheckAt !== null));
  if (!chosen) return;
  api.clock.advance(Math.max(0, (chosen.nextCheckAt ?? 0) - now()));
  await look(it, chosen);
}

async function release({ model, random, domain }: World): Promise<void> {
  const chosen = random.of(model.claims);
  if (!chosen) return;
  const { by } = chosen;
  expect(outcomeOf(await (await asOwner(by.account))('DELETE', `${pathOf(by)}/${domain}`))).toBe('204');
  model.claims = model.claims.filter((one) => one !== chosen);
}

async function toggle({ random, claimants, everybodys, accounts }: World): Promise<void> {
  const chosen = random.of([...claimants, { account: accounts[0] as TestAccount, connection: everybodys }]);
  const { id, path, isActive } = chosen.connection;
  const verb = isActive ? 'disable' : 'activate';
  expect(outcomeOf(await (await asOwner(chosen.account))('POST', `${path}/${id}/${verb}`))).toBe('200');
  chosen.connection.isActive = !isActive;
}

const steps: [number, (it: World) => Promise<unknown>][] = [
  [6, claim],
  [6, publish],
  [8, look],
  [14, lookWhenDue],
  [1, release],
  [4, toggle],
  [3, async ({ random }) => api.clock.advance(random.of([minutes(1), minutes(40), hours(24), hours(72), days(5)]))],
];
const weighted = byWeight(steps);

/** Expects the claims, and the connections by which people sign in, to be the model's. */
async function compare({ model, accounts, everybodys, domain }: World): Promise<void> {
  const [first] = accounts as [TestAccount];
  const rows = await api.database.db.transaction('system', (tx) =>
    tx.query<{ id: string; status: string }[]>('select id, status from sso_domains where domain = $1 order by id', [
      domain,
    ]),
  );
  const inOrder = (claims: { id: string; status: string }[]) =>
    claims.map(({ id, status }) => `${id} ${status}`).sort();
  expect(inOrder(rows)).toEqual(inOrder(model.claims));
  const email = `ana@${domain}`;
  const found = await api.database.db.transaction('system', async (tx) => ({
    admins: (await adminConnectionByAddress(tx, email))?.id ?? null,
    people: (await identityConnectionFor(tx, first.scope, email))?.id ?? null,
  }));
  const active = (connection: Claimant['connection'] | undefined) => (connection?.isActive ? connection.id : null);
  const account = model.holder(({ organization }) => organization === null);
  const its = model.holder(({ organization }) => organization !== null);
  expect(found).toEqual({
    admins: active(account?.connection),
    people: active(its?.connection) ?? (account?.account === first ? active(everybodys) : null),
  });
}

test.each(seedsOf(1, 2))('in every history, domains and connections are those of the contract: %i', async (seed) => {
  const it = await newWorld(seed);
  await live(seed, 80, async (tell) => {
    const step = it.random.of(weighted);
    tell(`${step.name || 'wait'} ${api.clock.now.toISOString()}`);
    await step(it);
    await compare(it);
  });
});
