import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { freePort } from '../../src/platform/embedded/ports.js';
import { projectRoot } from '../../src/platform/root.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { allEnded } from '../support/audit-events.js';
import { runProgram, savePrograms } from '../support/document-programs.js';
import { inviteTo, linkTokenOf } from '../support/identity-invites.js';
import { type Calls, callsWith } from '../support/nodes.js';
import { Browser } from '../support/oauth/browser.js';
import { password, redirectUri, type TestClient } from '../support/oauth/environment.js';
import { tokensFor } from '../support/oauth/tokens.js';
import { patience } from '../support/patience.js';
import { newPublicClient, publicClient, signedInAt } from '../support/public-client.js';
import { rowsOf } from '../support/rows.js';

/** The programs of the documents for who integrates, run as a reader copies them from there. */

let api: TestApi;
let account: TestAccount;
let full: Calls;
let folder: string;
let origin: string;

beforeAll(async () => {
  const port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  api = await startApi({ BASE_URL: origin });
  await api.app.listen({ port, host: '127.0.0.1' });
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-programs-'));
  await symlink(join(projectRoot, 'node_modules'), join(folder, 'node_modules'));
  for (const document of ['customers', 'environments', 'copies', 'personal-data'])
    await savePrograms(`docs/${document}.md`, folder);
});
beforeEach(async () => {
  account = await newAccount(api);
  full = callsWith(api, await account.apiKey());
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await api.stop();
});

/** Runs a program with a key that has the scopes that its document names. */
async function run(scopes: string[], ...args: string[]): Promise<string> {
  const { 'x-api-key': key = '' } = await account.apiKey(scopes);
  return runProgram(folder, { GATEHOUSE_URL: origin, GATEHOUSE_API_KEY: key }, ...args);
}
/** The body with which docs/customers.md creates a server's key. */
const ofServersKey = async () => {
  const page = await readFile(join(projectRoot, 'docs/customers.md'), 'utf8');
  return JSON.parse(/^api \/api-keys -d '([^']*)'$/m.exec(page)?.[1] ?? '{}');
};
const configuring = [
  'rbac.view_roles',
  'rbac.manage_roles',
  'hierarchy.view',
  'svc:organization.manage',
  'rbac.assign_roles',
];
const configure = async () => JSON.parse(await run(configuring, 'configure.mjs', 'configuration.json'));
const made = async (path: string, body: object) => {
  const answer = await full('POST', path, body);
  if (answer.statusCode !== 201) throw new Error(answer.body);
  return answer.json().data;
};

test(
  'a customer is configured and onboarded, its administrator signs in, is allowed what the role says, and passes that on',
  async () => {
    expect(await configure()).toEqual([
      ...['permission invoice.view', 'permission invoice.manage', 'role Member', 'role Customer admin'],
    ]);
    expect(await configure()).toEqual([]);
    const [role] = (await full('GET', '/roles?name=Member')).json().items;
    await full('PUT', `/roles/${role.id}/permissions`, { permission_keys: [] }, role.version);
    expect(await configure()).toEqual(['role Member']);

    const { secret: key } = await made('/api-keys', await ofServersKey());
    const env = { GATEHOUSE_URL: origin, GATEHOUSE_API_KEY: key };
    const globex = JSON.parse(await runProgram(folder, env, 'onboard.mjs', 'Globex', 'lena@globex.example'));
    const [invitation] = (await full('GET', `/organizations/${globex.id}/invitations`)).json().items;
    const accepting = { token: linkTokenOf(invitation.id), first_name: 'Lena', last_name: 'Kern', password };
    await send(api.app, 200, { method: 'POST', url: '/v1/identity/auth/accept-invite', payload: accepting });

    const redirectUris = [redirectUri];
    const { client } = await api.services.clientManagement.create(account.scope, { ...publicClient, redirectUris });
    const asking = { organization: globex.slug, scope: 'openid org' };
    const tokens = await tokensFor(new Browser(api.app), client as TestClient, 'lena@globex.example', asking);
    const program = `
      import { callerOf, may } from ${JSON.stringify(pathToFileURL(join(folder, 'may.mjs')))};
      const caller = await callerOf(process.env.TOKEN);
      console.log(JSON.stringify([caller.organizationId, await may(caller, 'invoice.manage'), await may(caller, 'invoice.view', process.env.OTHER)]));`;
    const other = (await made('/organizations', { name: 'Initech' })).id;
    const inline = ['--input-type=module', '--eval', program];
    const asked = { ...env, CLIENT_ID: client.clientId, TOKEN: tokens.access_token, OTHER: other };
    const decided = await runProgram(folder, asked, ...inline);
    expect(JSON.parse(decided)).toEqual([globex.id, true, false]);
    const elsewhere = { ...asked, CLIENT_ID: 'another' };
    await expect(runProgram(folder, elsewhere, ...inline)).rejects.toThrow('This token is for something else.');

    // With her own token: what the table of pages says that the role needs.
    const lena = callsWith(api, { authorization: `Bearer ${tokens.access_token}` });
    const at = `/organizations/${globex.id}`;
    const { items: roles } = (await lena('GET', `${at}/roles`)).json();
    expect(roles.map(({ name }: { name: string }) => name)).toEqual(['Customer admin', 'Member']);
    for (const { id } of roles) await inviteTo(lena, `${at}/invitations`, { role_ids: [id] });
    const statuses = [];
    for (const path of ['', '/members', '/domains', '/authentication-policy', '/sso-recovery-codes'])
      statuses.push((await lena('GET', `${at}${path}`)).statusCode);
    expect(statuses).toEqual([200, 200, 200, 200, 200]);
    expect((await lena('POST', `${at}/sso-connection`, { type: 'saml', name: 'Globex' })).statusCode).toBe(201);
    expect((await lena('POST', `${at}/domains`, { domain: 'globex.example' })).statusCode).toBe(201);
    expect((await lena('GET', `/organizations/${other}/members`)).statusCode).toBe(403);
    expect((await lena('GET', '/audit-logs')).json().error.details).toMatchObject([
      { message: "needs audit.view at the environment's root" },
    ]);

    // Suspended, and back.
    const { version } = (await full('GET', `/nodes/${globex.id}`)).json().data;
    await full('PATCH', `/nodes/${globex.id}`, { status: 'inactive' }, version);
    expect((await lena('GET', at)).statusCode).toBe(401);
    await full('PATCH', `/nodes/${globex.id}`, { status: 'active' }, version + 1);
    expect((await lena('GET', at)).statusCode).toBe(200);
  },
  patience,
);

test('a program with a wrong key says so, and with too few scopes which ones it needs', async () => {
  const wrong = { GATEHOUSE_URL: origin, GATEHOUSE_API_KEY: 'ghk_test_wrong' };
  const lacking = /Error: api_key\.scope_required: .*"needs rbac\.view_roles/;
  for (const args of [
    ['onboard.mjs', 'Globex', 'lena@globex.example'], // which calls one operation,
    ['configure.mjs', 'configuration.json'], // and reads a list
  ]) {
    await expect(runProgram(folder, wrong, ...args)).rejects.toThrow(/Error: 401: The credentials are not valid/);
    await expect(run(['svc:organization.manage'], ...args)).rejects.toThrow(lacking);
  }
});

test(
  'the copy is as the lists are, whatever happened while its program was down',
  async () => {
    await rm(join(folder, 'copy.json'), { force: true });
    const copying = ['changes.read', 'identity.view', 'hierarchy.view', 'svc:organization.manage'];
    const copied = async () => {
      await run(copying, 'copy.mjs');
      const { cursor: _, ...copy } = JSON.parse(await readFile(join(folder, 'copy.json'), 'utf8'));
      for (const { members } of Object.values<{ members: string[] }>(copy.organizations)) members.sort();
      return copy;
    };
    const person = async (name: string) =>
      (await made('/identities', { email: `${name}@${account.accountSlug}.example`, first_name: name })).id as string;
    const [ana, ben, eve] = [await person('ana'), await person('ben'), await person('eve')];
    const [acme, globex] = [
      await made('/organizations', { name: 'Acme' }),
      await made('/organizations', { name: 'Globex' }),
    ];
    for (const { id } of [acme, globex])
      for (const identity_id of [ana, ben, eve]) await made(`/organizations/${id}/members`, { identity_id });
    const first = await copied();
    expect(Object.keys(first.people).sort()).toEqual([ana, ben, eve].sort());
    expect(first.organizations[acme.id].members).toEqual([ana, ben, eve].sort());

    await full('PATCH', `/identities/${ana}`, { first_name: 'Anna' });
    await full('POST', `/identities/${ana}/deactivate`);
    await full('DELETE', `/identities/${ben}`);
    await full('DELETE', `/organizations/${acme.id}/members/${eve}`);
    await full('DELETE', `/organizations/${globex.id}`, undefined, globex.version);
    await full('PATCH', `/nodes/${acme.id}`, { status: 'inactive' }, acme.version);
    const noor = await person('noor');
    await made(`/organizations/${acme.id}/members`, { identity_id: noor });
    const email = (name: string) => `${name}@${account.accountSlug}.example`;
    const now = {
      people: {
        [ana]: { email: email('ana'), first_name: 'Anna', last_name: null, is_active: false },
        [eve]: { email: email('eve'), first_name: 'eve', last_name: null, is_active: true },
        [noor]: { email: email('noor'), first_name: 'noor', last_name: null, is_active: true },
      },
      organizations: { [acme.id]: { name: 'Acme', status: 'inactive', members: [ana, noor].sort() } },
    };
    await allEnded(api); // other tests share this PostgreSQL
    expect(await copied()).toEqual(now);
    expect(await copied()).toEqual(now);

    // A cursor that is older than what is kept.
    const [before] = await rowsOf<{ value: string }>(api, 'select dropped_through::text as value from event_state');
    for (let i = 0; i < 3; i++) await rowsOf(api, 'select pg_current_xact_id()');
    await allEnded(api);
    const oldest = `pg_snapshot_xmin(pg_current_snapshot())::text::bigint`;
    await rowsOf(api, `update event_state set dropped_through = ${oldest} - 2`); // behind the cursor, not behind the latest
    try {
      expect(await copied()).toEqual(now);
    } finally {
      await rowsOf(api, 'update event_state set dropped_through = $1', [before?.value]);
    }
  },
  patience,
);

test('the report about a person has every part', async () => {
  const { clientId } = await newPublicClient(api, account.scope);
  const ana = { email: `ana@${account.accountSlug}.example`, password };
  const { id } = await made('/identities', { ...ana, email_verified: true, metadata: { plan: 'gold' } });
  const acme = await made('/organizations', { name: 'Acme' });
  await made(`/organizations/${acme.id}/members`, { identity_id: id });
  await signedInAt(api, { clientId }, ana);
  const scopes = ['identity.view', 'identity.manage', 'rbac.view_roles', 'audit.view'];
  const report = JSON.parse(await run(scopes, 'person.mjs', ana.email.toUpperCase()));
  expect(report).toMatchObject({
    profile: { id, metadata: { plan: 'gold' } },
    second_factors: { factors: [] },
    sign_in: { has_password: true },
    sessions: [{ ip_address: expect.any(String) }],
    applications: [{ client_id: clientId }],
    organizations: [{ id: acme.id }],
    roles: [],
    invites: [],
  });
  expect(report.did.map(({ action }: { action: string }) => action)).toContain('identity.signed_in');
  expect(report.was_changed.map(({ action }: { action: string }) => action)).toContain('identity.created');
  await expect(run(scopes, 'person.mjs', 'nobody@example.com')).rejects.toThrow('Nobody here has this address.');
});

test('settings go from one Environment to another, without what belongs to one alone', async () => {
  const portal = await startApi(); // with the issuer of the tests' administrators
  try {
    await portal.app.listen({ port: 0, host: '127.0.0.1' });
    const acme = await newAccount(portal);
    const { authorization = '' } = await acme.as('owner');
    const settings = callsWith(portal, { authorization }, acme.portalPath('/settings'));
    const changes = { mfa_policy: 'required', branding: { name: 'Acme' }, allowed_origins: ['https://dev.example'] };
    expect((await settings('PATCH', '', changes, 1)).statusCode).toBe(200);
    const env = {
      GATEHOUSE_URL: `http://127.0.0.1:${(portal.app.server.address() as AddressInfo).port}`,
      ADMIN_TOKEN: authorization.replace('Bearer ', ''),
      ACCOUNT: acme.accountSlug,
      APPLICATION: acme.applicationSlug,
    };
    const carry = async () => JSON.parse(await runProgram(folder, env, 'settings.mjs', 'development', 'production'));
    expect(await carry()).toEqual({ mfa_policy: 'required', branding: expect.objectContaining({ name: 'Acme' }) });
    expect(await carry()).toEqual({});
    const production = callsWith(portal, { authorization }, acme.portalPath('/settings', 'production'));
    expect((await production('GET', '')).json().data).toMatchObject({ mfa_policy: 'required', allowed_origins: [] });
    await expect(
      runProgram(folder, { ...env, ADMIN_TOKEN: 'x' }, 'settings.mjs', 'development', 'production'),
    ).rejects.toThrow('Error: 401: ');
  } finally {
    await portal.stop();
  }
});
