import { randomUUID } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { warnOfCertificates } from '../../../src/domain/sso-connections/certificate-warnings.js';
import {
  adminConnectionByAddress,
  adminConnectionFor,
  domainOfAddress,
  identityConnectionFor,
  maySpeakFor,
  organizationConnection,
} from '../../../src/domain/sso-connections/covering.js';
import { connectionMails } from '../../../src/domain/sso-connections/mails.js';
import { maxFailures, noteFailure, noteSuccess } from '../../../src/domain/sso-connections/outcomes.js';
import { days } from '../../../src/platform/clock.js';
import { inTransaction } from '../../../src/platform/database/db.js';
import { invite, rolesByKey, tokenOf } from '../../support/administrators.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { rowsOf } from '../../support/rows.js';
import { certificateFor } from '../../support/sso-connections.js';

let api: TestApi;
let account: TestAccount;
let owner: Call;
const inEnvironment = '/applications/portal/environments/development';

beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
});
afterAll(() => api?.stop());

const provider = {
  type: 'oidc',
  name: 'Acme',
  oidc_discovery_url: 'https://idp.example',
  oidc_client_id: 'gatehouse',
  oidc_client_secret: 'secret',
};
async function connect(path: string, more: object = {}): Promise<string> {
  const { id } = (await owner('POST', path, { ...provider, ...more })).json().data.connection;
  expect(outcomeOf(await owner('POST', `${path}/${id}/activate`))).toBe('200');
  return id;
}
/** Verifies a domain of the Account or of an organization. */
async function verified(organizationId?: string): Promise<string> {
  const domain = `d-${randomUUID()}.example`;
  const path = organizationId ? `${inEnvironment}/organizations/${organizationId}/domains` : '/sso/domains';
  const { id } = (await owner('POST', path, { domain })).json().data;
  await rowsOf(api, `update sso_domains set status = 'verified' where id = $1`, [id]);
  return domain;
}
const lapse = (domain: string) => rowsOf(api, `update sso_domains set status = 'lapsed' where domain = $1`, [domain]);
const ask = <T>(work: (tx: EntityManager) => Promise<T>) =>
  api.database.db.transaction({ accountId: account.scope.accountId }, work);
const idOf = async (asked: Promise<SsoConnection | null>) => (await asked)?.id ?? null;
const read = (id: string) => ask((tx) => tx.findOneByOrFail(SsoConnection, { id }));

test.each([
  ['ana@Acme.Example', 'acme.example'],
  ['"odd@one"@bücher.example', 'xn--bcher-kva.example'],
  ['ana', null],
  ['ana@', null],
])('the domain of %s is %s', (address, domain) => expect(domainOfAddress(address)).toBe(domain));

test("administrators: the Account's active connection, for addresses at its verified domains alone", async () => {
  const path = '/sso/connections';
  const id = await connect(path);
  await connect(path);
  const domain = await verified();
  const found = (email: string) => ask((tx) => idOf(adminConnectionFor(tx, account.scope, email)));
  expect(await found(`ana@${domain.toUpperCase()}`)).toBe(id); // the oldest one
  expect(await found(`ana@mail.${domain}`)).toBeNull();
  expect(await found('ana@example.com')).toBeNull();
  const anywhere = (email: string) =>
    api.database.db.transaction('system', (tx) => idOf(adminConnectionByAddress(tx, email)));
  expect([await anywhere(`ana@${domain}`), await anywhere('ana@example.com')]).toEqual([id, null]);
  const stranger = (await newAccount(api)).scope;
  expect(await ask((tx) => idOf(adminConnectionFor(tx, stranger, `ana@${domain}`)))).toBeNull();
  await lapse(domain);
  expect(await found(`ana@${domain}`)).toBeNull();
});

test("end users: the organization's connection, or else the Environment's where the Account has the domain", async () => {
  const organization = (await owner('POST', `${inEnvironment}/organizations`, { name: 'Acme' })).json().data.id;
  const path = `${inEnvironment}/sso-connections`;
  const everybodys = await connect(path);
  const its = await connect(path, { organization_id: organization });
  const [mine, theirs] = [await verified(), await verified(organization)];
  const found = (email: string) => ask((tx) => idOf(identityConnectionFor(tx, account.scope, email)));
  expect([await found(`a@${mine}`), await found(`a@${theirs}`)]).toEqual([everybodys, its]);
  expect(await ask((tx) => idOf(organizationConnection(tx, account.scope, organization)))).toBe(its);
  expect(await ask((tx) => idOf(identityConnectionFor(tx, account.productionScope, `a@${theirs}`)))).toBeNull();
  const speaks = async (id: string, domain: string) => {
    const connection = await read(id);
    return ask((tx) => maySpeakFor(tx, connection, `a@${domain}`));
  };
  expect([await speaks(its, theirs), await speaks(its, mine)]).toEqual([true, false]);
  expect([await speaks(everybodys, mine), await speaks(everybodys, theirs)]).toEqual([true, false]);
  // A disabled connection does not count, nor that of an inactive organization.
  await rowsOf(api, `update nodes set status = 'inactive' where id = $1`, [organization]);
  expect(await found(`a@${theirs}`)).toBeNull();
  await owner('POST', `${path}/${everybodys}/disable`);
  expect(await found(`a@${mine}`)).toBeNull();
});

test('an invited administrator whose domain has a provider needs no password', async () => {
  const roles = await rolesByKey(owner);
  const domain = await verified();
  const made = await invite(owner, { role_id: roles.developer, email: `ivo@${domain}` });
  const token = tokenOf(made.id);
  const post = (path: string, payload: object) => api.app.inject({ method: 'POST', url: `/v1/auth${path}`, payload });
  const available = async () => (await post('/invite-info', { token })).json().data.sso_available;
  expect(await available()).toBe(false);
  const person = { token, first_name: 'Ivo', last_name: 'Kern' };
  expect((await post('/accept-invite', person)).statusCode).toBe(400);
  const connection = await connect('/sso/connections');
  expect(await available()).toBe(true);
  await owner('POST', `/sso/connections/${connection}/disable`);
  expect(await available()).toBe(false);
  await owner('POST', `/sso/connections/${connection}/activate`);
  expect((await post('/accept-invite', person)).statusCode).toBe(200);
  const [user] = await rowsOf<{ password_hash: string | null }>(
    api,
    'select password_hash from users where email = $1',
    [`ivo@${domain}`],
  );
  expect(user).toEqual({ password_hash: null });
});

describe('failures', () => {
  const fail = (id: string) => ask((tx) => noteFailure(tx, { id }, 'signature_invalid', api.clock.now));

  test('ten in a row disable a connection, once, however many at once; managers get a mail', async () => {
    const id = await connect('/sso/connections');
    const outcomes = await Promise.all(Array.from({ length: maxFailures + 5 }, () => fail(id)));
    expect(outcomes.filter(Boolean)).toHaveLength(1);
    const connection = await read(id);
    expect(connection).toMatchObject({ status: 'auto_disabled', autoDisabledAt: api.clock.now });
    expect(connection.consecutiveFailures).toBe(maxFailures + 5);
    const events = await rowsOf(
      api,
      `select metadata, actor_type from events where resource_id = $1 and action = 'sso_connection.auto_disabled'`,
      [id],
    );
    expect(events).toMatchObject([
      { actor_type: 'system', metadata: { reason: 'signature_invalid', consecutive_failures: maxFailures } },
    ]);
    const mails = await rowsOf<{ recipient_id: string }>(
      api,
      `select recipient_id from emails where subject_id = $1 and template = 'sso-connection-auto-disabled'`,
      [id],
    );
    expect(mails).toEqual([{ recipient_id: account.userId }]);
    const write = () =>
      api.database.db.transaction('system', (tx) =>
        connectionMails()['sso-connection-auto-disabled'](tx, id, 'en', account.userId),
      );
    expect(await write()).toMatchObject({ values: { connection: 'Acme' } });
    const activated = await owner('POST', `/sso/connections/${id}/activate`);
    expect(activated.json().data.connection).toMatchObject({ consecutive_failures: 0, auto_disabled_at: null });
    expect(await write()).toBeNull();
  });

  test('a success in between restarts the count', async () => {
    const id = await connect('/sso/connections');
    for (let i = 1; i < maxFailures; i++) await fail(id);
    const failing = await read(id);
    await ask((tx) => noteSuccess(inTransaction(tx), failing, api.clock.now));
    expect(await read(id)).toMatchObject({ consecutiveFailures: 0, lastLoginAt: api.clock.now, status: 'active' });
    expect(await fail(id)).toBe(false);
    expect(await read(id)).toMatchObject({ status: 'active', lastLoginFailureAt: api.clock.now });
  });
});

test('managers get a mail a month and a week before a provider’s last certificate expires; not about a replaced one', async () => {
  const now = Date.now();
  const at = (day: number) => new Date(now + days(day));
  const [short, long] = await Promise.all([20, 60].map((life) => certificateFor(life, 'idp.example', now)));
  const id = await connect('/sso/connections', {
    type: 'saml',
    oidc_discovery_url: undefined,
    oidc_client_id: undefined,
    oidc_client_secret: undefined,
    saml_entity_id: 'https://idp.example',
    saml_sso_url: 'https://idp.example/sso',
    saml_signing_cert: `${short}\n${long}`,
  });
  const first = '00000000-0000-0000-0000-000000000000';
  async function toldBy(day: number): Promise<[number, number]> {
    for (let next: string | null = first; next !== null; ) {
      next = await warnOfCertificates(api.database.db, next, 1, at(day));
    }
    const asked = [
      `select 1 from events where resource_id = $1 and action = 'sso_connection.certificate_expiring'`,
      `select 1 from emails where subject_id = $1 and template = 'sso-certificate-expiring'`,
    ].map((text) => rowsOf(api, text, [id]));
    const [events = [], mails = []] = await Promise.all(asked);
    return [events.length, mails.length];
  }
  const written = () =>
    api.database.db.transaction('system', (tx) =>
      connectionMails()['sso-certificate-expiring'](tx, id, 'en', account.userId),
    );
  expect(await toldBy(29)).toEqual([0, 0]); // the first one has ended, and the second one exists
  expect(await toldBy(31)).toEqual([1, 1]);
  expect(await toldBy(32)).toEqual([1, 1]);
  expect(await written()).toMatchObject({ values: { connection: 'Acme' } });
  expect(await toldBy(54)).toEqual([2, 2]);
  expect(await toldBy(90)).toEqual([2, 2]);
  const [event] = await rowsOf<{ metadata: { not_after: string } }>(
    api,
    `select metadata from events where resource_id = $1 and action = 'sso_connection.certificate_expiring' limit 1`,
    [id],
  );
  expect(new Date(event?.metadata.not_after ?? '').getTime()).toBe(Math.floor(at(60).getTime() / 1000) * 1000);
  await owner('PATCH', `/sso/connections/${id}`, { saml_signing_cert: await certificateFor(200, 'idp.example', now) });
  expect([await written(), await toldBy(91)]).toEqual([null, [2, 2]]);
  expect(await toldBy(171)).toEqual([3, 3]);
  await owner('POST', `/sso/connections/${id}/disable`);
  expect(await toldBy(195)).toEqual([3, 3]);
});

test('ten recovery codes are shown once, and a new set makes the old one void', async () => {
  const organization = (await owner('POST', `${inEnvironment}/organizations`, { name: 'Acme' })).json().data.id;
  const path = `${inEnvironment}/organizations/${organization}/sso-recovery-codes`;
  expect((await owner('GET', path)).json().data).toEqual({ count: 0, remaining: 0, generation: 0, created_at: null });
  const first = await owner('POST', path, undefined, { 'idempotency-key': randomUUID() });
  expect(outcomeOf(first)).toBe('201');
  const { codes, ...set } = first.json().data;
  expect(new Set(codes).size).toBe(10);
  expect(set).toEqual({ count: 10, remaining: 10, generation: 1, created_at: api.clock.now.toISOString() });
  expect((await owner('GET', path)).json().data).toEqual(set);
  const kept = await rowsOf(api, 'select * from sso_recovery_codes where organization_id = $1', [organization]);
  expect(JSON.stringify(kept)).not.toContain(codes[0].replaceAll('-', ''));
  const renewals = await Promise.all(Array.from({ length: 5 }, () => owner('POST', path)));
  expect(renewals.map((one) => one.json().data.generation).sort()).toEqual([2, 3, 4, 5, 6]);
  expect((await owner('GET', path)).json().data).toMatchObject({ count: 10, generation: 6 });
  const told = `select from events where resource_id = $1 and action = 'organization.sso_recovery_codes_renewed'`;
  expect(await rowsOf(api, told, [organization])).toHaveLength(6);
});
