import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createDomainChecks } from '../../../src/domain/sso-domains/checks.js';
import { domainMails } from '../../../src/domain/sso-domains/mails.js';
import { days, hours, minutes, seconds } from '../../../src/platform/clock.js';
import { createDns, type Dns } from '../../../src/platform/dns.js';
import { outcomeOf, outcomesOf } from '../../support/answers.js';
import { newAccount, type TestAccount, type TestApi } from '../../support/api.js';
import { startApiBesideTemporal } from '../../support/api-beside-temporal.js';
import { type Call, callsOf } from '../../support/calls.js';
import { startDnsServer, type TestDnsServer } from '../../support/dns-server.js';
import { newIdentityCaller } from '../../support/identity-caller.js';
import { patience } from '../../support/patience.js';
import { rowsOf } from '../../support/rows.js';

let api: TestApi;
let dns: TestDnsServer;
let account: TestAccount;
let owner: Call;
const pauses = [minutes(1), minutes(1), hours(1)];

beforeAll(async () => {
  dns = await startDnsServer();
  api = await startApiBesideTemporal({ DNS_SERVERS: dns.address, DOMAIN_POLL_SCHEDULE: '2x1m,1h' });
  account = await newAccount(api);
  owner = await asOwner(account);
});
afterAll(async () => {
  await api.stop();
  await dns.stop();
});

// Only the checks' time is moved: signed-in callers would have to sign in again.
let aheadMs = 0;
beforeEach(() => {
  aheadMs = 0;
});
const now = () => new Date(api.clock.now.getTime() + aheadMs);
const move = (ms: number) => {
  aheadMs += ms;
};

const asOwner = async (of: TestAccount) => callsOf(api, of.accountSlug, await of.as('owner'));
const resolver = () => createDns({ servers: [dns.server], withinMs: patience });
/** Checks as the process does; the api itself checks only on request. */
const checks = (other: { ofAccount?: number; dns?: Dns } = {}) =>
  createDomainChecks({
    db: api.database.db,
    now,
    dns: resolver(),
    schedule: { pauses, recheckMs: hours(24), lapseAfterMs: hours(72) },
    ...other,
  });
interface Claim {
  id: string;
  domain: string;
  status: string;
  txt_record_name: string;
  txt_record_value: string;
  failure_reason: string | null;
  next_check_at: string | null;
}
const newDomain = () => `d-${randomUUID()}.example`;
async function claim(call = owner, domain = newDomain()): Promise<Claim> {
  const answer = await call('POST', '/sso/domains', { domain });
  expect(outcomeOf(answer)).toBe('201');
  return answer.json().data;
}
/** Returns a claim's state after a check so many milliseconds later. */
const lookAfter = async ({ id }: Pick<Claim, 'id'>, ms: number) => {
  move(ms);
  return (await checks().check(id)).status;
};
const read = async ({ domain }: Pick<Claim, 'domain'>, call = owner): Promise<Claim> =>
  (await call('GET', `/sso/domains/${domain}`)).json().data;
/** Publishes records beside those of others. */
const publish = (...claims: Claim[]) =>
  dns.set(claims[0]!.txt_record_name, { txt: ['v=spf1 -all', ...claims.map((one) => one.txt_record_value)] });
const eventsOf = async ({ id }: Pick<Claim, 'id'>) =>
  rowsOf<{ action: string; metadata: object; resource_label: string }>(
    api,
    'select action, metadata, resource_label from events where resource_id = $1 order by created_at, id',
    [id],
  );
const actionsOf = async (one: Claim) => (await eventsOf(one)).map(({ action }) => action.replace('sso.domain.', ''));
/** Returns when a claim has ended, for a check that a person asks for. */
const endOf = async ({ id }: Pick<Claim, 'id'>): Promise<string | null> => {
  const [row] = await rowsOf<{ ended_at: Date | null }>(api, 'select ended_at from sso_domains where id = $1', [id]);
  return row?.ended_at?.toISOString() ?? null;
};
/** Returns the content of the one mail that reports the latest lapse of a claim. */
async function lapseMailOf({ id }: Pick<Claim, 'id'>, locale: 'en' | 'de' = 'en') {
  const [mail, ...more] = await rowsOf<{ subject_id: string }>(
    api,
    `select subject_id from emails where template = 'sso-domain-lapsed' and subject_id in
       (select id from events where resource_id = $1 and action = 'sso.domain.lapsed')`,
    [id],
  );
  expect(more).toEqual([]);
  return api.database.db.transaction('system', (tx) =>
    domainMails()['sso-domain-lapsed'](tx, mail!.subject_id, locale),
  );
}
const outboxOf = async ({ id }: Pick<Claim, 'id'>) =>
  (
    await rowsOf<{ news: string | null }>(
      api,
      `select input ->> 'news' as news from outbox where process = 'ssoDomainVerification' and input ->> 'claimId' = $1 order by created_at`,
      [id],
    )
  ).map(({ news }) => news);

test('hosts of URLs that tenants enter are resolved by these servers, too', async () => {
  const host = newDomain();
  dns.set(host, { a: ['127.0.0.1'] }, 'A');
  let asked = 0;
  const provider = createServer((_, response) => {
    asked++;
    response.writeHead(404).end();
  });
  await new Promise<void>((done) => provider.listen(0, '127.0.0.1', done));
  const { port } = provider.address() as AddressInfo;
  const { connection } = (await owner('POST', '/sso/connections', { type: 'saml', name: 'X' })).json().data;
  const metadata_url = `http://${host}:${port}/metadata`;
  const answer = await owner('POST', `/sso/connections/${connection.id}/import-metadata`, { metadata_url });
  expect(outcomeOf(answer)).toBe('400 sso_connection.metadata_unreadable');
  expect(asked).toBe(1);
  await new Promise((done) => provider.close(done));
});

test('a claim names the record to publish; claiming again returns the same one, however it is written', async () => {
  const domain = newDomain();
  const first = await claim(owner, `https://WWW.${domain.toUpperCase()}/about`);
  expect(first).toEqual({
    id: expect.any(String),
    domain,
    status: 'pending',
    txt_record_name: `_svc-verification.${domain}`,
    txt_record_value: expect.stringMatching(/^svc-domain-verification=[0-9a-v]{32}$/),
    verified_at: null,
    last_checked_at: null,
    next_check_at: new Date(api.clock.now.getTime() + minutes(1)).toISOString(),
    failure_reason: null,
    created_at: api.clock.now.toISOString(),
    process: {
      id: first.id,
      state: 'pending',
      next_wake_up: new Date(api.clock.now.getTime() + minutes(1)).toISOString(),
      verbs: ['cancel'],
    },
  });
  expect(await claim(owner, domain)).toEqual(first);
  expect(await read(first)).toEqual(first);
  const [event, ...more] = await eventsOf(first);
  expect(event).toMatchObject({ action: 'sso.domain.claimed', resource_label: domain, metadata: { domain } });
  expect(JSON.stringify(event)).not.toContain(first.txt_record_value.split('=')[1]);
  expect(more).toEqual([]);
  expect(await outboxOf(first)).toEqual([null]);
});

test.each([
  ['no domain', 'sso_domain.malformed'],
  ['192.0.2.1', 'sso_domain.malformed'],
  ['gmail.com', 'sso_domain.public_provider'],
  ['https://www.gmail.com/', 'sso_domain.public_provider'],
  ['co.uk', 'sso_domain.public_suffix'],
])('%s cannot be claimed: %s', async (domain, code) => {
  const answer = await owner('POST', '/sso/domains', { domain });
  expect(outcomeOf(answer)).toBe(`400 ${code}`);
  expect(answer.json().error.details).toMatchObject([{ field: 'domain' }]);
});

test('twenty requests at once are one claim with one event and one process', async () => {
  const domain = newDomain();
  const all = await Promise.all(Array.from({ length: 20 }, () => claim(owner, domain)));
  expect(new Set(all.map(({ id }) => id)).size).toBe(1);
  expect(await actionsOf(all[0]!)).toEqual(['claimed']);
  expect(await outboxOf(all[0]!)).toEqual([null]);
});

test('a claim is checked on request: missing, wrong, broken and then right; the row has each result', async () => {
  const one = await claim();
  const verify = async () => (await owner('POST', `/sso/domains/${one.domain}/verify`)).json().data as Claim;
  expect(await verify()).toMatchObject({ status: 'pending', failure_reason: 'record_not_found' });
  dns.set(one.txt_record_name, { txt: ['svc-domain-verification=another'] });
  expect(await verify()).toMatchObject({ status: 'pending', failure_reason: 'record_mismatch' });
  dns.set(one.txt_record_name, { servfail: true });
  expect(await verify()).toMatchObject({ status: 'pending', failure_reason: 'dns_unavailable' });
  publish(one);
  expect(await verify()).toMatchObject({
    status: 'verified',
    failure_reason: null,
    verified_at: api.clock.now.toISOString(),
    last_checked_at: api.clock.now.toISOString(),
    next_check_at: new Date(api.clock.now.getTime() + hours(24)).toISOString(),
  });
  expect(await actionsOf(one)).toEqual(['claimed', 'verified']);
});

test('of two accounts that claim a domain the first one to prove it has it, and the other claim says so', async () => {
  const mine = await claim();
  const other = await asOwner(await newAccount(api));
  const theirs = await claim(other, mine.domain);
  expect(theirs.txt_record_value).not.toBe(mine.txt_record_value);
  publish(mine, theirs);
  expect((await checks().check(mine.id)).status).toBe('verified');
  expect((await checks().check(theirs.id)).status).toBe('failed');
  expect(await read(theirs, other)).toMatchObject({ status: 'failed', failure_reason: 'verified_by_another_account' });
  expect((await eventsOf(theirs)).at(-1)).toMatchObject({
    action: 'sso.domain.failed',
    metadata: { reason: 'verified_by_another_account', previous_status: 'pending' },
  });
  // Once given up, the other one can have it at once.
  expect(outcomeOf(await owner('DELETE', `/sso/domains/${mine.domain}`))).toBe('204');
  expect((await checks().check(theirs.id, await endOf(theirs))).status).toBe('verified');
  expect(await read(theirs, other)).toMatchObject({ status: 'verified', failure_reason: null });
});

test('one of ten accounts whose records are found at the same moment has the domain', async () => {
  const domain = newDomain();
  const claims = [];
  for (let i = 0; i < 10; i++) claims.push(await claim(await asOwner(await newAccount(api)), domain));
  publish(...claims);
  const looks = await Promise.all(claims.map(({ id }) => checks().check(id)));
  expect(looks.map(({ status }) => status).sort()).toEqual([...Array(9).fill('failed'), 'verified']);
});

test('ten parallel checks of one claim record one event', async () => {
  const one = await claim();
  publish(one);
  await Promise.all(Array.from({ length: 10 }, () => checks().check(one.id)));
  expect(await actionsOf(one)).toEqual(['claimed', 'verified']);
});

test('an account whose zones do not answer waits for its own checks, and another account does not', async () => {
  const worker = checks({ ofAccount: 2 });
  const silent = [await claim(), await claim(), await claim()];
  for (const { txt_record_name } of silent) dns.set(txt_record_name, { silent: true });
  const theirs = await claim(await asOwner(await newAccount(api)));
  publish(theirs);
  const looks = await Promise.all([...silent, theirs].map(({ id }) => worker.check(id)));
  expect(looks.map(({ status }) => status)).toEqual(['pending', 'pending', 'pending', 'verified']);
  const seen = await Promise.all(silent.map((one) => read(one)));
  expect(seen.map(({ failure_reason }) => failure_reason).sort()).toEqual(['dns_unavailable', 'dns_unavailable', null]);
  const late = seen.find(({ failure_reason }) => failure_reason === null)!;
  const pauseMs = Date.parse(late.next_check_at!) - now().getTime();
  expect(pauseMs).toBeGreaterThanOrEqual(seconds(30));
  expect(pauseMs).toBeLessThanOrEqual(minutes(1));
  publish(late); // its record is visible soon
  expect((await worker.check(late.id)).status).toBe('verified');
});

/** Adds claims until there are `max`, copied from this one; from the `failed`th on they have failed. */
const crowd = ({ id }: Claim, { max, failed, suffix }: { max: number; failed: number; suffix: string }) =>
  rowsOf(
    api,
    `insert into sso_domains (id, account_id, domain, token, status, ended_at, claimed_by_type, claimed_by, created_at, started_at, fails_at)
     select gen_random_uuid(), account_id, 'd' || n || $4, token, case when n < $3 then 'pending' else 'failed' end,
       case when n >= $3 then created_at end,
       claimed_by_type, claimed_by, created_at, started_at, fails_at
     from sso_domains, generate_series(1, $2::integer) n where sso_domains.id = $1`,
    [id, max, failed, suffix],
  );

test('an account has at most 200 claims that have not failed; existing ones are still answered', async () => {
  const crowded = await newAccount(api);
  const call = await asOwner(crowded);
  const first = await claim(call);
  await crowd(first, { max: 220, failed: 200, suffix: '.example' });
  expect(outcomeOf(await call('POST', '/sso/domains', { domain: newDomain() }))).toBe('409 sso_domain.limit_reached');
  expect(outcomeOf(await call('POST', '/sso/domains', { domain: 'd210.example' }))).toBe(
    '409 sso_domain.limit_reached',
  );
  // Nor can a failed one be resumed otherwise.
  expect(outcomeOf(await call('POST', '/sso/domains/d210.example/verify'))).toBe('409 sso_domain.limit_reached');
  const failed = (await call('GET', '/sso/domains/d210.example')).json().data;
  expect(outcomeOf(await call('POST', `/processes/${failed.id}/retry`))).toBe('409 sso_domain.limit_reached');
  expect((await claim(call, first.domain)).id).toBe(first.id);
  expect(outcomeOf(await call('DELETE', '/sso/domains/d1.example'))).toBe('204');
  await claim(call);
});

test('of failed claims that are found at once, as many are resumed as there is room for', async () => {
  const crowded = await newAccount(api);
  const call = await asOwner(crowded);
  const first = await claim(call);
  await crowd(first, { max: 203, failed: 199, suffix: '.crowded.example' });
  const failed = [199, 200, 201, 202, 203].map((n) => `d${n}.crowded.example`);
  for (const domain of failed) dns.set(`_svc-verification.${domain}`, { txt: [first.txt_record_value] });
  const verify = (domain: string) => call('POST', `/sso/domains/${domain}/verify`);
  const outcomes = outcomesOf(await Promise.all(failed.map(verify)));
  expect(outcomes).toEqual({ 200: 1, '409 sso_domain.limit_reached': 4 });
  const { items } = (await call('GET', '/sso/domains?status=verified')).json();
  expect(items).toHaveLength(1);
  // Nor is room used that another claim takes while the zone is checked.
  const verified = (items as Claim[])[0]!.domain;
  const late = await read({ domain: failed.find((domain) => domain !== verified)! }, call);
  expect(outcomeOf(await call('DELETE', `/sso/domains/${verified}`))).toBe('204');
  const txt = async (name: string) => {
    await claim(call);
    return resolver().txt(name);
  };
  expect((await checks({ dns: { ...resolver(), txt } }).check(late.id, await endOf(late))).status).toBe('failed');
  expect((await read(late, call)).failure_reason).toBe(late.failure_reason);
});

test('a claim that is given up is deleted; the domain can be claimed again with another token', async () => {
  const one = await claim();
  expect(outcomeOf(await owner('DELETE', `/sso/domains/${one.domain}`))).toBe('204');
  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/verify'],
  ] as const)
    expect(outcomeOf(await owner(method, `/sso/domains/${one.domain}${path}`))).toBe('404 sso_domain.not_found');
  expect(await actionsOf(one)).toEqual(['claimed', 'deleted']);
  expect(await outboxOf(one)).toEqual([null, 'released']);
  expect(await checks().check(one.id)).toEqual({ status: 'released', nextCheckAt: null });
  expect((await claim(owner, one.domain)).txt_record_value).not.toBe(one.txt_record_value);
});

test('a claim that is never found fails at the end of the schedule with its last result, and is checked again when claimed', async () => {
  const one = await claim();
  const inTime = async (ms: number) => {
    move(ms);
    const { nextCheckAt, status } = await checks().check(one.id);
    return [status, nextCheckAt && Date.parse(nextCheckAt) - now().getTime()];
  };
  expect(await inTime(minutes(1))).toEqual(['pending', minutes(1)]);
  expect(await inTime(minutes(1))).toEqual(['pending', hours(1)]);
  dns.set(one.txt_record_name, { absent: 'nodata', ttl: 7_200 });
  expect(await inTime(0)).toEqual(['pending', hours(2)]); // not before resolvers have forgotten that nothing was there
  expect(await inTime(hours(2))).toEqual(['failed', null]);
  expect(await read(one)).toMatchObject({ status: 'failed', failure_reason: 'record_not_found', next_check_at: null });
  expect(await actionsOf(one)).toEqual(['claimed', 'failed']);

  const again = await claim(owner, one.domain);
  expect(again).toMatchObject({
    id: one.id,
    status: 'pending',
    txt_record_value: one.txt_record_value,
    failure_reason: null,
    next_check_at: new Date(api.clock.now.getTime() + minutes(1)).toISOString(),
  });
  expect(await actionsOf(one)).toEqual(['claimed', 'failed', 'claimed']);
  expect(await outboxOf(one)).toEqual([null, 'claimed_again']);
});

test('a verified claim without its record for three days lapses with a mail, and can be verified again', async () => {
  const one = await claim();
  publish(one);
  await checks().check(one.id);
  dns.set(one.txt_record_name, { servfail: true });
  const at = (ms: number) => lookAfter(one, ms);
  expect(await at(days(1))).toBe('verified');
  dns.remove(one.txt_record_name);
  expect(await at(days(1))).toBe('verified');
  expect(await read(one)).toMatchObject({ status: 'verified', failure_reason: 'record_not_found' });
  expect(await at(hours(71))).toBe('verified');
  expect(await at(hours(1))).toBe('lapsed');
  expect(await actionsOf(one)).toEqual(['claimed', 'verified', 'lapsed']);
  expect(await lapseMailOf(one)).toEqual({
    to: expect.stringContaining('-owner@example.com'),
    values: {
      first_name: 'Test',
      domain: one.domain,
      place_name: (await rowsOf(api, 'select name from accounts where id = $1', [account.scope.accountId]))[0]?.name,
      record_name: one.txt_record_name,
      record_value: one.txt_record_value,
      reason: 'You get this message because you claimed the domain.',
    },
  });
  publish(one);
  expect(await at(days(1))).toBe('verified');
  expect(await lapseMailOf(one)).toBeNull(); // it is not true any more
  expect(await actionsOf(one)).toEqual(['claimed', 'verified', 'lapsed', 'verified']);
});

test('a lapsed domain belongs to nobody: an account that has proved it since keeps it', async () => {
  const mine = await claim();
  const other = await asOwner(await newAccount(api));
  const theirs = await claim(other, mine.domain);
  publish(mine);
  await checks().check(mine.id);
  publish(theirs);
  for (let day = 0; day < 4; day++, move(days(1))) await checks().check(mine.id);
  expect(await read(mine)).toMatchObject({ status: 'lapsed', failure_reason: 'record_mismatch' });
  publish(mine, theirs);
  expect((await checks().check(theirs.id)).status).toBe('verified');
  expect((await checks().check(mine.id)).status).toBe('failed');
  expect(await read(mine)).toMatchObject({ status: 'failed', failure_reason: 'verified_by_another_account' });
});

test('a claim whose zone is broken for a month lapses, and a lapsed one fails if nobody repairs it', async () => {
  const one = await claim();
  publish(one);
  await checks().check(one.id);
  dns.set(one.txt_record_name, { servfail: true });
  const at = (ms: number) => lookAfter(one, ms);
  for (let day = 1; day < 30; day++) expect(await at(days(1))).toBe('verified');
  expect(await at(days(1))).toBe('lapsed');
  expect(await at(minutes(1))).toBe('lapsed');
  expect(await at(hours(2))).toBe('failed'); // checked as long as a new one
  expect(await read(one)).toMatchObject({ status: 'failed', failure_reason: 'dns_unavailable' });
});

test('a record that is missed once, before its zone breaks, has been missing for three days only once that is seen', async () => {
  const one = await claim();
  publish(one);
  await checks().check(one.id);
  dns.remove(one.txt_record_name);
  const at = (ms: number) => lookAfter(one, ms);
  expect(await at(days(1))).toBe('verified');
  dns.set(one.txt_record_name, { servfail: true });
  for (let day = 0; day < 10; day++) expect(await at(days(1))).toBe('verified');
  publish(one);
  expect(await at(days(1))).toBe('verified');
  dns.remove(one.txt_record_name);
  expect(await at(days(1))).toBe('verified');
  dns.set(one.txt_record_name, { silent: true });
  expect(await at(days(3))).toBe('verified');
  dns.remove(one.txt_record_name);
  expect(await at(hours(1))).toBe('lapsed');
  expect(await actionsOf(one)).toEqual(['claimed', 'verified', 'lapsed']);
});

test.each([{ servfail: true } as const, null])(
  'a month without a worker does not count as a missing record: %j',
  async (answer) => {
    const one = await claim();
    publish(one);
    await checks().check(one.id);
    if (answer) dns.set(one.txt_record_name, answer);
    else dns.remove(one.txt_record_name);
    const at = (ms: number) => lookAfter(one, ms);
    expect(await at(days(31))).toBe('verified');
    expect(await at(hours(1))).toBe('verified');
    for (let day = 0; day < 2; day++) expect(await at(days(1))).toBe('verified');
    expect(await at(days(1))).toBe('lapsed');
  },
);

test('support ends a claim, also a verified one, and has a failed one checked again', async () => {
  const one = await claim();
  publish(one);
  await checks().check(one.id);
  const shown = (await owner('GET', `/processes?kind=sso_domain&subject_id=${one.id}`)).json().items;
  expect(shown).toMatchObject([
    {
      id: one.id,
      state: 'verified',
      waits_for: 'its_next_moment',
      workflow_id: `sso-domain/${one.id}`,
      verbs: ['cancel'],
    },
  ]);
  await owner('POST', `/processes/${one.id}/cancel`, { reason: 'a test' });
  expect(await read(one)).toMatchObject({ status: 'failed', failure_reason: 'cancelled_by_operator' });
  expect(outcomeOf(await owner('POST', `/processes/${one.id}/retry`))).toBe('200');
  const looks = { verified_at: null, last_checked_at: null }; // of the earlier claim
  expect(await read(one)).toMatchObject({ status: 'pending', failure_reason: null, ...looks });
  expect(await outboxOf(one)).toEqual([null, 'cancelled', 'claimed_again']);
  await checks().cancel(one.id);
  expect(await read(one)).toMatchObject({ status: 'failed', failure_reason: 'cancelled_by_operator' });
  await checks().cancel(one.id);
  expect((await actionsOf(one)).filter((action) => action === 'failed')).toHaveLength(2);
});

test('a claim that is stopped during a check stays stopped, until a check is requested', async () => {
  const one = await claim();
  publish(one);
  const asked = resolver();
  const txt: Dns['txt'] = async (name) => {
    const answer = await asked.txt(name);
    await checks().cancel(one.id);
    return answer;
  };
  expect((await checks({ dns: { ...asked, txt } }).check(one.id)).status).toBe('failed');
  expect(await read(one)).toMatchObject({ status: 'failed', failure_reason: 'cancelled_by_operator' });
  expect((await owner('POST', `/sso/domains/${one.domain}/verify`)).json().data).toMatchObject({ status: 'verified' });
});

test('a claim that support has ended is not verified again by a process that has not heard of it, or that was reset', async () => {
  const one = await claim();
  publish(one);
  expect((await checks().check(one.id)).status).toBe('verified');
  await owner('POST', `/processes/${one.id}/cancel`, { reason: 'a test' });
  const end = await endOf(one);
  expect(await checks().check(one.id)).toEqual({ status: 'failed', nextCheckAt: null }); // by the clock
  expect(await read(one)).toMatchObject({ status: 'failed', failure_reason: 'cancelled_by_operator' });
  expect((await checks().check(one.id, end)).status).toBe('verified'); // a person has asked for it
  move(minutes(1));
  await checks().cancel(one.id);
  expect((await checks().check(one.id, end)).status).toBe('failed'); // the same request once more
  const own = (await actionsOf(one)).filter((action) => action !== 'process.cancelled');
  expect(own).toEqual(['claimed', 'verified', 'failed', 'verified', 'failed']);
});

test('lists are searched, filtered and sorted, and contain the account’s own claims', async () => {
  const mine = await newAccount(api);
  const call = await asOwner(mine);
  const [b, a] = [await claim(call, `b-${newDomain()}`), await claim(call, `a-${newDomain()}`)];
  const list = async (query: string) =>
    (await call('GET', `/sso/domains?${query}`)).json().items.map(({ domain }: Claim) => domain);
  expect(await list('sort_by=domain&order=asc')).toEqual([a.domain, b.domain]);
  expect(await list(`q=${a.domain.slice(0, 20).toUpperCase()}`)).toEqual([a.domain]);
  publish(b);
  await checks().check(b.id);
  expect(await list('status=verified')).toEqual([b.domain]);
  expect(outcomeOf(await call('GET', `/sso/domains?status=unknown`))).toBe('400 validation.failed');
});

describe('of organizations', () => {
  type Send = (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    payload?: object,
  ) => Promise<ReturnType<typeof JSON.parse>>;
  const server = async (of: TestAccount, headers?: Record<string, string>): Promise<Send> => {
    const key = headers ?? (await of.apiKey());
    return (method, path, payload) =>
      api.app.inject({ method, url: `/api/v1${path}`, headers: key, ...(payload && { payload }) });
  };
  const newOrganization = async (send: Send) =>
    (await send('POST', '/organizations', { name: `Organization ${randomUUID()}` })).json().data.id as string;

  test('each has its own claims, over both surfaces; one organization of an environment holds a domain', async () => {
    const send = await server(account);
    const [first, second] = [await newOrganization(send), await newOrganization(send)];
    const domain = newDomain();
    const claimed = async (id: string) =>
      (await send('POST', `/organizations/${id}/domains`, { domain })).json().data as Claim;
    const [mine, theirs] = [await claimed(first), await claimed(second)];
    expect(await claimed(first)).toEqual(mine);
    expect(mine.id).not.toBe(theirs.id);
    publish(mine, theirs);
    expect((await checks().check(mine.id)).status).toBe('verified');
    expect((await checks().check(theirs.id)).status).toBe('failed');
    const listed = await owner(
      'GET',
      account.portalPath(`/organizations/${second}/domains`).replace(/^.*?(?=\/applications)/, ''),
    );
    expect(listed.json().items).toMatchObject([
      { id: theirs.id, status: 'failed', failure_reason: 'verified_by_another_organization' },
    ]);
    expect((await owner('GET', `/sso/domains?q=${domain}`)).json().items).toEqual([]);
    expect(outcomeOf(await owner('GET', `/sso/domains/${domain}`))).toBe('404 sso_domain.not_found');
    // The account's own claim is independent, and so are those of other accounts' customers.
    const own = await claim(owner, domain);
    const stranger = await newAccount(api);
    const ofStranger = await server(stranger);
    const third = await newOrganization(ofStranger);
    const foreign = (await ofStranger('POST', `/organizations/${third}/domains`, { domain })).json().data as Claim;
    publish(own, foreign);
    expect((await checks().check(own.id)).status).toBe('verified');
    expect((await checks().check(foreign.id)).status).toBe('verified');
    const [{ environment_id, application_id } = {}] = await rowsOf(
      api,
      `select environment_id, application_id from events where resource_id = $1 and action = 'sso.domain.verified'`,
      [foreign.id],
    );
    expect({ environment_id, application_id }).toEqual({
      environment_id: stranger.scope.environmentId,
      application_id: stranger.scope.applicationId,
    });
  });

  test('a caller who manages an organization claims for it, and nobody for a missing one', async () => {
    const send = await server(account);
    const id = await newOrganization(send);
    const role = `Manager ${randomUUID()}`;
    await send('POST', '/roles', { name: role, permission_keys: ['svc:organization.manage'] });
    const { headers } = await newIdentityCaller(api, account, [{ role, nodeId: id }] as never);
    const manager = await server(account, headers);
    const domain = newDomain();
    expect(outcomeOf(await manager('POST', `/organizations/${id}/domains`, { domain }))).toBe('201');
    expect(outcomeOf(await manager('POST', `/organizations/${await newOrganization(send)}/domains`, { domain }))).toBe(
      '403 permission.required',
    );
    for (const [method, path] of [
      ['GET', ''],
      ['POST', ''],
      ['POST', `/${domain}/verify`],
      ['DELETE', `/${domain}`],
    ] as const)
      expect(
        outcomeOf(await send(method, `/organizations/${randomUUID()}/domains${path}`, path ? undefined : { domain })),
      ).toBe('404 organization.not_found');
    const unknown = await send('DELETE', `/organizations/${id}/domains/${newDomain()}`);
    expect(outcomeOf(unknown)).toBe('404 sso_domain.not_found');
  });

  test('the mail about a lapse names the organization, and tells an Owner why they get it if a key has claimed', async () => {
    const send = await server(account);
    const name = `Organization ${randomUUID()}`;
    const { id } = (await send('POST', '/organizations', { name })).json().data;
    const one: Claim = (await send('POST', `/organizations/${id}/domains`, { domain: newDomain() })).json().data;
    publish(one);
    await checks().check(one.id);
    dns.remove(one.txt_record_name);
    for (let day = 0; day < 4; day++) await lookAfter(one, days(1));
    expect(await lapseMailOf(one, 'de')).toMatchObject({
      to: expect.stringContaining('-owner@example.com'),
      values: {
        place_name: name,
        reason: 'Sie bekommen diese Nachricht, weil Sie Owner des Kontos sind, in dem die Domain beansprucht wurde.',
      },
    });
  });

  test('a domain is free when its organization is deleted', async () => {
    const send = await server(account);
    const [first, second] = [await newOrganization(send), await newOrganization(send)];
    const domain = newDomain();
    const claims: Claim[] = [];
    for (const id of [first, second])
      claims.push((await send('POST', `/organizations/${id}/domains`, { domain })).json().data);
    publish(...claims);
    await checks().check(claims[0]!.id);
    await checks().check(claims[1]!.id);
    const headers = { ...(await account.apiKey()), 'if-match': '"1"' };
    expect(outcomeOf(await api.app.inject({ method: 'DELETE', url: `/api/v1/organizations/${first}`, headers }))).toBe(
      '204',
    );
    expect((await checks().check(claims[0]!.id)).status).toBe('released');
    expect((await checks().check(claims[1]!.id, await endOf(claims[1]!))).status).toBe('verified');
  });
});
