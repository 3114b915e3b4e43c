import { X509Certificate } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LightMyRequestResponse } from 'fastify';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { maxConnections } from '../../../src/domain/sso-connections/connections.js';
import { clientSecretContext, clientSecretOf } from '../../../src/domain/sso-connections/secrets.js';
import { createSealing } from '../../../src/platform/crypto/sealing.js';
import { sealing } from '../../support/administrators.js';
import { outcomeOf } from '../../support/answers.js';
import { baseUrl, newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { newIdentityCaller } from '../../support/identity-caller.js';
import { interleaved } from '../../support/interleaving.js';
import { rowsOf } from '../../support/rows.js';
import { certificateFor, providerMetadata, someCertificate } from '../../support/sso-connections.js';

let api: TestApi;
let account: TestAccount;
let portal: Call;
let owner: Record<string, string>;
let key: Record<string, string>;
const inEnvironment = '/applications/portal/environments/development';

beforeAll(async () => {
  api = await startApi({ WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true' });
  account = await newAccount(api);
  owner = await account.as('owner');
  portal = callsOf(api, account.accountSlug, owner);
  key = await account.apiKey();
});
afterAll(() => api?.stop());

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
const server = (method: Method, path: string, payload?: object, headers = key): Promise<LightMyRequestResponse> =>
  api.app.inject({ method, url: `/api/v1${path}`, headers, ...(payload && { payload }) });
const newOrganization = async (): Promise<string> =>
  (await server('POST', '/organizations', { name: `Org ${Math.random()}` })).json().data.id;
const newRole = async (keys: string[], more: object = {}): Promise<string> =>
  (await server('POST', '/roles', { name: `Role ${Math.random()}`, permission_keys: keys, ...more })).json().data.id;
const saml = async () => ({
  type: 'saml',
  name: 'Acme Entra',
  saml_entity_id: 'https://idp.example/saml',
  saml_sso_url: 'https://idp.example/sso',
  saml_signing_cert: await someCertificate(),
});
const oidc = {
  type: 'oidc',
  name: 'Acme Okta',
  oidc_discovery_url: 'https://acme.okta.example',
  oidc_client_id: 'gatehouse',
  oidc_client_secret: 'very secret',
};
const eventsOf = async (id: string) =>
  (
    await rowsOf<{ action: string; metadata: object }>(
      api,
      `select action, metadata from events where resource_id = $1 order by created_at, id`,
      [id],
    )
  ).map(({ action, metadata }) => ({ action, ...metadata }));
const actionsOf = async (id: string) => (await eventsOf(id)).map(({ action }) => action.replace('sso_connection.', ''));
const settings = async () => (await portal('GET', `${inEnvironment}/settings`)).json().data;
const setDefault = async (id: string | null) =>
  portal(
    'PATCH',
    `${inEnvironment}/settings`,
    { default_sso_connection_id: id },
    { 'if-match': String((await settings()).version) },
  );
const faultsOf = (answer: LightMyRequestResponse): string[] =>
  (answer.json().error.details ?? []).map(({ field, code }: { field: string; code: string }) => `${field} ${code}`);

test('an organization creates its connection: the detail is that of the specification, without the secret', async () => {
  const organization = await newOrganization();
  const path = `/organizations/${organization}/sso-connection`;
  expect(outcomeOf(await server('GET', path))).toBe('404 sso_connection.not_found');
  const role = await newRole(['hierarchy.view']);
  const made = await server('POST', path, { ...oidc, default_role_id: role, jit_provisioning_enabled: true });
  expect(outcomeOf(made)).toBe('201');
  const { data } = made.json();
  const { id } = data.connection;
  expect(data).toEqual({
    connection: {
      id,
      account_id: account.scope.accountId,
      scope: 'organization',
      type: 'oidc',
      name: 'Acme Okta',
      environment_id: account.scope.environmentId,
      organization_id: organization,
      status: 'configuring',
      saml_entity_id: null,
      saml_sso_url: null,
      saml_slo_url: null,
      saml_slo_response_url: null,
      saml_signing_cert: null,
      certificates: [],
      saml_signature_algorithm: null,
      saml_want_assertions_signed: true,
      saml_name_id_format: null,
      saml_allow_idp_initiated: false,
      force_authn: false,
      oidc_discovery_url: 'https://acme.okta.example',
      oidc_client_id: 'gatehouse',
      oidc_scopes: ['openid', 'profile', 'email'],
      has_oidc_client_secret: true,
      jit_provisioning_enabled: true,
      attribute_mapping: {},
      last_login_at: null,
      last_login_failure_at: null,
      consecutive_failures: 0,
      auto_disabled_at: null,
      single_logout_enabled: true,
      created_at: api.clock.now.toISOString(),
      updated_at: api.clock.now.toISOString(),
    },
    default_role: { id: role, name: expect.stringContaining('Role') },
    owned_by_organization: true,
    service_provider: {
      protocol: 'oidc',
      acs_url: null,
      entity_id: null,
      metadata_url: null,
      slo_url: null,
      redirect_uri: `${baseUrl}/sso/oidc/${id}/callback`,
      post_logout_redirect_uri: `${baseUrl}/sso/oidc/${id}/signed-out`,
      backchannel_logout_uri: `${baseUrl}/sso/oidc/${id}/backchannel-logout`,
      signing_certificate: null,
    },
  });
  expect((await server('GET', path)).json().data).toEqual(data);
  expect((await server('GET', `${path}/service-provider`)).json().data).toEqual(data.service_provider);
  expect(outcomeOf(await server('POST', path, oidc))).toBe('409 organization.sso_connection_exists');
  expect(await eventsOf(id)).toEqual([
    { action: 'sso_connection.created', type: 'oidc', scope: 'organization', organization_id: organization },
  ]);
  const row = await api.database.db.transaction('system', (tx) => tx.findOneByOrFail(SsoConnection, { id }));
  expect(row.oidcClientSecretSealed).not.toContain('very secret');
  expect(clientSecretOf(sealing, row)).toBe('very secret');
});

test('a connection’s activation or disabling and a change of its organization’s policy come one after the other', async () => {
  const organization = await newOrganization();
  await server('POST', `/organizations/${organization}/sso-connection`, oidc);
  const path = `/organizations/${organization}`;
  const policy = { allowed_methods: null, require_mfa: false, session_ttl_seconds: null };
  const outcomes = new Set<string>();
  let version = 1;
  // Before each of its statements, until it has no more.
  for (let at = 2; at <= 12; at++) {
    const put = () =>
      api.app.inject({
        method: 'PUT',
        url: `/api/v1${path}/authentication-policy`,
        headers: { ...key, 'if-match': `"${version}"` },
        payload: { ...policy, require_sso: at % 2 === 0 },
      });
    const verb = at % 2 === 0 ? 'activate' : 'disable';
    const both = await interleaved(api.database.ownerUrl, at, put, () =>
      server('POST', `${path}/sso-connection/${verb}`),
    );
    for (const outcome of both) outcomes.add(outcomeOf(outcome));
    version = both[0].json().data?.version ?? version;
  }
  // A disabled provider can be required of nobody.
  for (const outcome of outcomes) expect(['200', '400 validation.failed']).toContain(outcome);
  expect(version).toBeGreaterThan(1);
});

test('twenty requests at once create one connection of an organization', async () => {
  const organization = await newOrganization();
  const all = await Promise.all(
    Array.from({ length: 20 }, () => server('POST', `/organizations/${organization}/sso-connection`, oidc)),
  );
  expect(all.map(outcomeOf).filter((outcome) => outcome === '201')).toHaveLength(1);
  expect(new Set(all.map(outcomeOf))).toEqual(new Set(['201', '409 organization.sso_connection_exists']));
});

test("a connection that the Account's team creates for an organization is read-only on the Public API", async () => {
  const organization = await newOrganization();
  const path = `/organizations/${organization}/sso-connection`;
  const made = await portal('POST', `${inEnvironment}/sso-connections`, { ...oidc, organization_id: organization });
  expect(outcomeOf(made)).toBe('201');
  expect(made.json().data.owned_by_organization).toBe(false);
  const { id } = made.json().data.connection;
  expect((await server('GET', path)).json().data).toEqual(made.json().data);
  const refused = '409 organization.sso_connection_not_owned';
  expect(outcomeOf(await server('PATCH', path, { name: 'Ours' }))).toBe(refused);
  expect(outcomeOf(await server('DELETE', path))).toBe(refused);
  for (const verb of ['activate', 'disable']) expect(outcomeOf(await server('POST', `${path}/${verb}`))).toBe(refused);
  const metadata_xml = await providerMetadata();
  expect(outcomeOf(await server('POST', `${path}/import-metadata`, { metadata_xml }))).toBe(refused);
  const member = await newIdentityCaller(api, account, [{ role: 'Administrator' }]);
  expect(outcomeOf(await server('PATCH', path, { name: 'Ours' }, member.headers))).toBe(refused);
  expect(await actionsOf(id)).toEqual(['created']);
  // The same by the organization's own path of the Portal.
  const renamed = await portal('PATCH', `${inEnvironment}${path}`, { name: 'Renamed' });
  expect(renamed.json().data).toMatchObject({ owned_by_organization: false, connection: { name: 'Renamed' } });
  // And the team may help with an organization's own connection, which stays its own.
  const own = await newOrganization();
  await server('POST', `/organizations/${own}/sso-connection`, oidc);
  const helped = await portal('PATCH', `${inEnvironment}/organizations/${own}/sso-connection`, { force_authn: true });
  expect(helped.json().data).toMatchObject({ owned_by_organization: true, connection: { force_authn: true } });
});

test('another logout URL resets where responses go, unless that is sent along', async () => {
  const path = `/organizations/${await newOrganization()}/sso-connection`;
  const { id } = (await server('POST', path, await saml())).json().data.connection;
  const responsesAt = async (changes: object) =>
    (await server('PATCH', path, changes)).json().data.connection.saml_slo_response_url;
  const [slo, elsewhere] = ['https://idp.example/slo', 'https://idp.example/slo-response'];
  expect(await responsesAt({ saml_slo_response_url: elsewhere })).toBe(elsewhere);
  expect(await responsesAt({ saml_slo_url: slo })).toBe(elsewhere); // it was the URL of no other endpoint
  expect(await responsesAt({ saml_slo_url: slo, force_authn: true })).toBe(elsewhere);
  expect(await responsesAt({ saml_slo_url: 'https://other.example/slo' })).toBeNull();
  expect((await eventsOf(id)).at(-1)).toMatchObject({ changed: ['saml_slo_response_url', 'saml_slo_url'] });
  expect(await responsesAt({ saml_slo_url: slo, saml_slo_response_url: elsewhere })).toBe(elsewhere);
  expect(await responsesAt({ saml_slo_url: null })).toBeNull();
});

test('everything but the type can be changed; a request for the present values is no change', async () => {
  const organization = await newOrganization();
  const path = `/organizations/${organization}/sso-connection`;
  const made = (await server('POST', path, await saml())).json().data;
  const change = {
    name: 'New',
    saml_slo_url: 'https://idp.example/slo',
    saml_slo_response_url: 'https://idp.example/slo-response',
    saml_signature_algorithm: 'sha512',
    force_authn: true,
    saml_want_assertions_signed: false,
    saml_allow_idp_initiated: true,
    jit_provisioning_enabled: true,
    saml_name_id_format: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
    attribute_mapping: { first_name: 'givenName', email: 'mail' },
  };
  api.clock.advance(1_000);
  const changed = await server('PATCH', path, change);
  expect(changed.json().data.connection).toEqual({
    ...made.connection,
    ...change,
    updated_at: api.clock.now.toISOString(),
  });
  api.clock.advance(1_000);
  expect((await server('PATCH', path, change)).json()).toEqual(changed.json());
  expect(outcomeOf(await server('PATCH', path, { type: 'oidc' }))).toBe('400 validation.failed');
  // What was read can be sent back, including the settings of the other type.
  const { connection } = changed.json().data;
  const settings = Object.entries(connection).filter(([name]) => /^(name|saml_|oidc_|force|attr|jit)/.test(name));
  expect((await server('PATCH', path, Object.fromEntries(settings))).json()).toEqual(changed.json());
  expect(await eventsOf(connection.id)).toMatchObject([
    { action: 'sso_connection.created' },
    { action: 'sso_connection.updated', changed: expect.arrayContaining(['saml_slo_url', 'attribute_mapping']) },
  ]);
});

describe('an invalid setting', () => {
  test.each([
    ['saml', { saml_sso_url: 'http://idp.example/sso' }, []], // development
    ['saml', { saml_sso_url: 'ftp://idp.example/sso' }, ['saml_sso_url scheme']],
    ['saml', { saml_slo_url: 'https://10.0.0.1/slo' }, ['saml_slo_url address']],
    ['saml', { saml_slo_response_url: 'https://10.0.0.1/slo' }, ['saml_slo_response_url address']],
    ['oidc', { saml_slo_response_url: 'https://idp.example/slo' }, ['saml_slo_response_url not_of_type']],
    ['saml', { saml_sso_url: 'https://me:pw@idp.example/' }, ['saml_sso_url credentials']],
    ['saml', { saml_signing_cert: 'MIIC' }, ['saml_signing_cert malformed']],
    ['saml', { saml_signing_cert: '' }, ['saml_signing_cert minLength']],
    ['saml', { saml_signing_cert: ' ' }, ['saml_signing_cert malformed']],
    ['saml', { saml_signature_algorithm: 'sha1' }, ['saml_signature_algorithm enum']],
    [
      'saml',
      { saml_name_id_format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient' },
      ['saml_name_id_format enum'],
    ],
    [
      'saml',
      { oidc_client_id: 'x', oidc_client_secret: 'y' },
      ['oidc_client_id not_of_type', 'oidc_client_secret not_of_type'],
    ],
    ['saml', { saml_entity_id: ' ' }, ['saml_entity_id pattern']],
    ['oidc', { saml_entity_id: 'x' }, ['saml_entity_id not_of_type']],
    ['oidc', { oidc_scopes: ['profile'] }, ['oidc_scopes openid_missing']],
    ['oidc', { oidc_discovery_url: 'https://169.254.169.254/' }, ['oidc_discovery_url address']],
    ['oidc', { attribute_mapping: { password: 'x' } }, ['attribute_mapping.password unknown_field']],
    ['oidc', { attribute_mapping: { external_id: 'x' } }, ['attribute_mapping.external_id not_of_organization']],
  ])('in a %s connection is reported by field: %j', async (type, wanted, faults) => {
    const organization = await newOrganization();
    const answer = await server('POST', `/organizations/${organization}/sso-connection`, {
      type,
      name: 'X',
      ...wanted,
    });
    expect(answer.statusCode === 201 ? [] : faultsOf(answer)).toEqual(faults);
  });

  test('several certificates are accepted, but not an expired one', async () => {
    const organization = await newOrganization();
    const path = `/organizations/${organization}/sso-connection`;
    const [one, other] = [await someCertificate(), await certificateFor(10)];
    const made = await server('POST', path, { ...(await saml()), saml_signing_cert: `${one}\n\n${other}` });
    const { connection, service_provider } = made.json().data;
    expect(connection.saml_signing_cert.match(/BEGIN/g)).toHaveLength(2);
    const shown = (pem: string) => {
      const { fingerprint256, validFrom, validTo } = new X509Certificate(pem);
      const [not_before, not_after] = [validFrom, validTo].map((text) => new Date(text).toISOString());
      return { fingerprint_sha256: fingerprint256, not_before, not_after };
    };
    expect(connection.certificates).toEqual([shown(one), shown(other)]);
    // Our certificate is created when the metadata, which contains it, is first requested.
    expect(service_provider.signing_certificate).toBeNull();
    const metadata = await api.app.inject(new URL(service_provider.metadata_url).pathname);
    const [, ours] = />([A-Za-z0-9+/=\s]{400,})</.exec(metadata.body) ?? [];
    const pem = `-----BEGIN CERTIFICATE-----\n${ours?.trim()}\n-----END CERTIFICATE-----`;
    const again = (await server('GET', `${path}/service-provider`)).json().data;
    expect(again.signing_certificate).toEqual(shown(pem));
    const expired = await server('PATCH', path, { saml_signing_cert: `${one}\n${await certificateFor(-1)}` });
    expect(faultsOf(expired)).toEqual(['saml_signing_cert expired']);
    expect((await server('PATCH', path, { saml_signing_cert: `hello ${one}` })).statusCode).toBe(400);
  });

  test('a certificate that expires while in use stays, and the next one is added behind it', async () => {
    const organization = await newOrganization();
    const path = `/organizations/${organization}/sso-connection`;
    const [ending, next, metadata_xml] = [
      await certificateFor(-1),
      await someCertificate(),
      await providerMetadata({ certificates: [await certificateFor(-1)] }),
    ];
    const made = await server('POST', path, { ...(await saml()), saml_signing_cert: next });
    const { id } = made.json().data.connection;
    await rowsOf(api, 'update sso_connections set saml_signing_cert = $2 where id = $1', [id, ending]);
    expect(outcomeOf(await server('POST', `${path}/activate`))).toBe('200');
    expect(outcomeOf(await server('PATCH', path, { jit_provisioning_enabled: true }))).toBe('200');
    expect(outcomeOf(await server('POST', `${path}/test`))).toBe('200');
    expect(outcomeOf(await server('POST', `${path}/disable`))).toBe('200');
    expect(outcomeOf(await server('POST', `${path}/activate`))).toBe('200');
    // Metadata with another expired certificate is still the wrong file.
    expect(faultsOf(await server('POST', `${path}/import-metadata`, { metadata_xml }))).toEqual([
      'saml_signing_cert expired',
    ]);
    const count = ({ connection }: { connection: { certificates: [] } }) => connection.certificates.length;
    const both = await server('PATCH', path, { saml_signing_cert: `${ending}\n${next}` });
    expect([outcomeOf(both), count(both.json().data)]).toEqual(['200', 2]);
    const published = await providerMetadata({ certificates: [ending, next] });
    const imported = await server('POST', `${path}/import-metadata`, { metadata_xml: published });
    expect([outcomeOf(imported), count(imported.json().data)]).toEqual(['200', 2]);
  });

  test('a default role that may not be assigned, or not by the caller, is refused', async () => {
    const organization = await newOrganization();
    const path = `/organizations/${organization}/sso-connection`;
    const inactive = await newRole([], { is_active: false });
    expect(faultsOf(await server('POST', path, { ...oidc, default_role_id: inactive }))).toEqual([
      'default_role_id not_assignable',
    ]);
    const system = (await server('GET', '/roles?source=system')).json().items[0].id;
    expect(faultsOf(await server('POST', path, { ...oidc, default_role_id: system }))).toEqual([
      'default_role_id not_assignable',
    ]);
    const strong = await newRole(['identity.manage']);
    const weak = await newRole(['hierarchy.view']);
    const scopes = ['hierarchy.manage', 'hierarchy.view', 'rbac.assign_roles'];
    const limited = await account.apiKey(scopes);
    const asked = (role: string, by: Record<string, string>) =>
      server('POST', path, { ...oidc, default_role_id: role }, by).then(outcomeOf);
    expect(await asked(strong, limited)).toBe('403 role.cannot_grant');
    expect(await asked(weak, await account.apiKey(scopes.slice(0, 2)))).toBe('403 api_key.scope_required');
    expect(await asked(weak, limited)).toBe('201');
    // A caller who may not assign it may change the rest, and remove it.
    const without = await account.apiKey(['hierarchy.manage']);
    expect(outcomeOf(await server('PATCH', path, { default_role_id: weak, name: 'Y' }, without))).toBe('200');
    expect((await server('PATCH', path, { default_role_id: null }, without)).json().data.default_role).toBeNull();
  });
});

describe('status', () => {
  test('only a complete connection is activated; what is missing is named', async () => {
    const organization = await newOrganization();
    const path = `/organizations/${organization}/sso-connection`;
    const { id } = (await server('POST', path, { type: 'saml', name: 'X' })).json().data.connection;
    const refused = await server('POST', `${path}/activate`);
    expect(outcomeOf(refused)).toBe('400 sso_connection.incomplete');
    expect(faultsOf(refused)).toEqual(['saml_entity_id missing', 'saml_sso_url missing', 'saml_signing_cert missing']);
    expect(outcomeOf(await server('POST', `${path}/disable`))).toBe('409 sso_connection.not_active');
    const { type: _, ...rest } = await saml();
    await server('PATCH', path, rest);
    const status = async (verb: string) => (await server('POST', `${path}/${verb}`)).json().data.connection.status;
    expect([await status('activate'), await status('activate')]).toEqual(['active', 'active']);
    // An active connection stays complete.
    expect(faultsOf(await server('PATCH', path, { saml_sso_url: null }))).toEqual(['saml_sso_url missing']);
    expect([await status('disable'), await status('disable'), await status('activate')]).toEqual([
      'disabled',
      'disabled',
      'active',
    ]);
    expect(outcomeOf(await server('DELETE', path))).toBe('204');
    expect(outcomeOf(await server('GET', path))).toBe('404 sso_connection.not_found');
    expect(await actionsOf(id)).toEqual(['created', 'updated', 'activated', 'disabled', 'activated', 'deleted']);
  });

  test('sending the present secret again is no change, unless it cannot be read any more', async () => {
    const organization = await newOrganization();
    const path = `/organizations/${organization}/sso-connection`;
    const { data } = (await server('POST', path, oidc)).json();
    const { id } = data.connection;
    const { type: _, ...sent } = oidc;
    api.clock.advance(1000);
    expect((await server('PATCH', path, sent)).json().data).toEqual(data);
    expect(await actionsOf(id)).toEqual(['created']);
    // As after a restore without the master key.
    const lost = createSealing([{ id: 'lost', key: Buffer.alloc(32, 9) }]).seal('very secret', clientSecretContext(id));
    await rowsOf(api, 'update sso_connections set oidc_client_secret_sealed = $2 where id = $1', [id, lost]);
    expect(outcomeOf(await server('PATCH', path, sent))).toBe('200');
    expect((await eventsOf(id)).at(-1)).toMatchObject({ changed: ['oidc_client_secret'] });
    const row = await api.database.db.transaction('system', (tx) => tx.findOneByOrFail(SsoConnection, { id }));
    expect(clientSecretOf(sealing, row)).toBe('very secret');
  });

  test('another provider does not get the former one’s secret, and its subjects are nobody yet', async () => {
    const organization = await newOrganization();
    const path = `/organizations/${organization}/sso-connection`;
    const { id } = (await server('POST', path, oidc)).json().data.connection;
    await server('POST', `${path}/activate`);
    const member = await newIdentityCaller(api, account);
    const link = `insert into sso_links (id, account_id, connection_id, subject, identity_id, created_at, last_login_at)
       values (gen_random_uuid(), $1, $2, '1001', $3, now(), now())`;
    await rowsOf(api, link, [account.scope.accountId, id, member.id]);
    const elsewhere = { oidc_discovery_url: 'https://mallory.example' };
    expect(faultsOf(await server('PATCH', path, elsewhere))).toEqual(['oidc_client_secret missing']);
    const moved = await server('PATCH', path, { ...elsewhere, oidc_client_secret: 'another' });
    expect(outcomeOf(moved)).toBe('200');
    expect(await rowsOf(api, 'select from sso_links where connection_id = $1', [id])).toEqual([]);
    expect((await eventsOf(id)).at(-1)).toMatchObject({
      changed: ['oidc_discovery_url', 'oidc_client_secret'],
      links_forgotten: 1,
    });
  });

  test('the provider’s links are deleted on request, with an event', async () => {
    const { id } = (await portal('POST', `${inEnvironment}/sso-connections`, oidc)).json().data.connection;
    const member = await newIdentityCaller(api, account);
    const link = `insert into sso_links (id, account_id, connection_id, subject, identity_id, created_at, last_login_at)
       values (gen_random_uuid(), $1, $2, '1001', $3, now(), now())`;
    await rowsOf(api, link, [account.scope.accountId, id, member.id]);
    const forget = () => portal('POST', `${inEnvironment}/sso-connections/${id}/forget-links`);
    expect((await forget()).json()).toEqual({ data: { links_forgotten: 1 } });
    expect(await rowsOf(api, 'select from sso_links where connection_id = $1', [id])).toEqual([]);
    expect((await forget()).json()).toEqual({ data: { links_forgotten: 0 } });
    const action = 'sso_connection.links_forgotten';
    expect((await eventsOf(id)).slice(-2)).toMatchObject([
      { action, links_forgotten: 1 },
      { action, links_forgotten: 0 },
    ]);
  });

  test.each(['disable', 'delete'])('%s signs out everybody who signed in by it', async (verb) => {
    const { connection } = (await portal('POST', `${inEnvironment}/sso-connections`, oidc)).json().data;
    const path = `${inEnvironment}/sso-connections/${connection.id}`;
    await portal('POST', `${path}/activate`);
    const [through, beside] = [await newIdentityCaller(api, account), await newIdentityCaller(api, account)];
    const sessions = 'update sessions set sso_connection_id = $2 where identity_id = $1 returning id';
    const [mine] = await rowsOf<{ id: string }>(api, sessions, [through.id, connection.id]);
    expect(outcomeOf(await setDefault(connection.id))).toBe('200');
    const answer = verb === 'disable' ? await portal('POST', `${path}/disable`) : await portal('DELETE', path);
    expect(answer.statusCode).toBeLessThan(300);
    const me = (headers: Record<string, string>) =>
      api.app.inject({ url: '/v1/identity/auth/me', headers }).then(({ statusCode }) => statusCode);
    expect([await me(through.headers), await me(beside.headers)]).toEqual([401, 200]);
    const reason = `sso_connection_${verb}d`;
    expect(await eventsOf(mine!.id)).toMatchObject([{ action: 'auth.identity_signed_out', reason }]);
    expect((await eventsOf(through.id)).at(-1)).toMatchObject({
      action: 'identity.sessions_revoked',
      reason,
      session_ids: [mine!.id],
    });
    expect((await settings()).default_sso_connection_id).toBeNull();
  });

  test.each(['disable', 'delete'])('%s signs out people whose session continued by another method', async (verb) => {
    const { connection } = (await portal('POST', `${inEnvironment}/sso-connections`, oidc)).json().data;
    const path = `${inEnvironment}/sso-connections/${connection.id}`;
    await portal('POST', `${path}/activate`);
    const through = await newIdentityCaller(api, account);
    await rowsOf(api, 'update sessions set former_sso_connection_ids = array[$2::uuid] where identity_id = $1', [
      through.id,
      connection.id,
    ]);
    const answer = verb === 'disable' ? await portal('POST', `${path}/disable`) : await portal('DELETE', path);
    expect(answer.statusCode).toBeLessThan(300);
    const me = await api.app.inject({ url: '/v1/identity/auth/me', headers: through.headers });
    expect(me.statusCode).toBe(401);
  });

  test('the default of an Environment is an active one of its own', async () => {
    const { connection } = (await portal('POST', `${inEnvironment}/sso-connections`, oidc)).json().data;
    expect(faultsOf(await setDefault(connection.id))).toEqual(['default_sso_connection_id not_active']);
    const organization = await newOrganization();
    const its = (await server('POST', `/organizations/${organization}/sso-connection`, oidc)).json().data.connection;
    expect(faultsOf(await setDefault(its.id))).toEqual(['default_sso_connection_id not_of_environment']);
    const team = (await portal('POST', '/sso/connections', oidc)).json().data.connection;
    expect(outcomeOf(await setDefault(team.id))).toBe('404 sso_connection.not_found');
    await portal('POST', `${inEnvironment}/sso-connections/${connection.id}/activate`);
    expect((await setDefault(connection.id)).json().data.default_sso_connection_id).toBe(connection.id);
    expect((await setDefault(null)).json().data.default_sso_connection_id).toBeNull();
  });

  test('a default that has switched itself off does not block a change that sends it back', async () => {
    const { connection } = (await portal('POST', `${inEnvironment}/sso-connections`, oidc)).json().data;
    await portal('POST', `${inEnvironment}/sso-connections/${connection.id}/activate`);
    const { version } = (await setDefault(connection.id)).json().data;
    await rowsOf(api, `update sso_connections set status = 'auto_disabled' where id = $1 returning id`, [
      connection.id,
    ]);
    const sent = { default_sso_connection_id: connection.id, password_min_length: 12 };
    const changed = await portal('PATCH', `${inEnvironment}/settings`, sent, { 'if-match': String(version) });
    expect(changed.json().data).toMatchObject(sent);
    expect((await setDefault(null)).json().data.default_sso_connection_id).toBeNull();
    expect(faultsOf(await setDefault(connection.id))).toEqual(['default_sso_connection_id not_active']);
  });

  test("an administrator's session ends with the connection by which it began", async () => {
    const { connection } = (await portal('POST', '/sso/connections', oidc)).json().data;
    await portal('POST', `/sso/connections/${connection.id}/activate`);
    const admin = await account.as('admin');
    const me = () => api.app.inject({ url: '/v1/auth/me', headers: admin }).then(({ statusCode }) => statusCode);
    expect(await me()).toBe(200);
    const { sub } = JSON.parse(
      Buffer.from(String(admin.authorization).split('.')[1] as string, 'base64url').toString(),
    );
    await rowsOf(api, 'update user_sessions set sso_connection_id = $2 where user_id = $1', [sub, connection.id]);
    expect((await portal('DELETE', `/sso/connections/${connection.id}`)).statusCode).toBe(204);
    expect(await me()).toBe(401);
    expect((await portal('GET', '/me')).statusCode).toBe(200);
  });
});

describe('metadata', () => {
  test('a document fills the connection; expired certificates are left out', async () => {
    const organization = await newOrganization();
    const path = `/organizations/${organization}/sso-connection`;
    await server('POST', path, { type: 'saml', name: 'X' });
    const certificates = [await someCertificate(), await certificateFor(-1)];
    const metadata_xml = await providerMetadata({ certificates });
    const imported = await server('POST', `${path}/import-metadata`, { metadata_xml });
    expect(imported.json().data.connection).toMatchObject({
      saml_entity_id: 'https://idp.example/saml',
      saml_sso_url: 'https://idp.example/sso',
      saml_slo_url: 'https://idp.example/slo',
      saml_slo_response_url: null,
      status: 'configuring',
      saml_name_id_format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
    });
    expect(imported.json().data.connection.saml_signing_cert.trim()).toBe((await someCertificate()).trim());
    expect(outcomeOf(await server('POST', `${path}/activate`))).toBe('200');
    const answeredAt = (url: string) =>
      server('POST', `${path}/import-metadata`, {
        metadata_xml: metadata_xml.replace('example/slo"', `example/slo" ResponseLocation="${url}"`),
      });
    const back = 'https://idp.example/slo-response';
    expect((await answeredAt(back)).json().data.connection.saml_slo_response_url).toBe(back);
    expect(faultsOf(await answeredAt('https://10.0.0.1/slo'))).toEqual(['saml_slo_response_url address']);
    expect((await answeredAt('')).json().data.connection.saml_slo_response_url).toBeNull();
    const only = await providerMetadata({ certificates: [await certificateFor(-1)] });
    expect(faultsOf(await server('POST', `${path}/import-metadata`, { metadata_xml: only }))).toEqual([
      'saml_signing_cert expired',
    ]);
  });

  test('it is fetched from the provider’s URL, and a failure is explained', async () => {
    const document = await providerMetadata({ entityId: 'https://fetched.example' });
    const answers: Record<string, [number, string]> = {
      '/good': [200, document],
      '/moved': [302, ''],
      '/long': [200, `${document}<!-- ${'x'.repeat(1_100_000)} -->`],
      '/html': [200, '<html>'],
    };
    const provider = createServer((request, response) => {
      const [status, body] = answers[request.url ?? ''] ?? [404, ''];
      response.writeHead(status, { location: '/good' }).end(body);
    });
    await new Promise<void>((done) => provider.listen(0, '127.0.0.1', done));
    const at = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    try {
      const organization = await newOrganization();
      const path = `/organizations/${organization}/sso-connection`;
      await server('POST', path, { type: 'saml', name: 'X' });
      const from = (metadata_url: string) => server('POST', `${path}/import-metadata`, { metadata_url });
      for (const [where, fault] of [
        ['/moved', 'metadata_url unreachable'],
        ['/gone', 'metadata_url unreachable'],
        ['/long', 'metadata_url size'],
        ['/html', 'metadata_url unusable'],
      ] as const) {
        const answer = await from(`${at}${where}`);
        expect([outcomeOf(answer), ...faultsOf(answer)]).toEqual(['400 sso_connection.metadata_unreadable', fault]);
      }
      expect(faultsOf(await from('https://192.168.1.1/metadata'))).toEqual(['metadata_url address']);
      expect(faultsOf(await server('POST', `${path}/import-metadata`, {}))).toEqual(['metadata_xml one_of']);
      expect((await from(`${at}/good`)).json().data.connection.saml_entity_id).toBe('https://fetched.example');
    } finally {
      await new Promise((done) => provider.close(done));
    }
  });

  test('there is none for an OpenID connection', async () => {
    const organization = await newOrganization();
    const path = `/organizations/${organization}/sso-connection`;
    await server('POST', path, oidc);
    const metadata_xml = await providerMetadata();
    expect(faultsOf(await server('POST', `${path}/import-metadata`, { metadata_xml }))).toContain(
      'saml_entity_id not_of_type',
    );
  });
});

test('an Environment has a maximum of connections, besides those of its organizations', async () => {
  const other = await newAccount(api);
  const calls = callsOf(api, other.accountSlug, await other.as('owner'));
  const { id } = (await calls('POST', `${inEnvironment}/sso-connections`, oidc)).json().data.connection;
  await rowsOf(
    api,
    `insert into sso_connections select (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid()))).*
     from sso_connections c, generate_series(2, $2) n where c.id = $1`,
    [id, maxConnections],
  );
  const make = async (more: object = {}, path = `${inEnvironment}/sso-connections`) =>
    outcomeOf(await calls('POST', path, { ...oidc, ...more }));
  expect(await make()).toBe('409 sso_connection.limit_reached');
  const organization = (await calls('POST', `${inEnvironment}/organizations`, { name: 'Acme' })).json().data.id;
  expect(await make({ organization_id: organization })).toBe('201');
  expect(await make({}, '/applications/portal/environments/production/sso-connections')).toBe('201');
  expect(await make({}, '/sso/connections')).toBe('201');
  expect(outcomeOf(await calls('DELETE', `${inEnvironment}/sso-connections/${id}`))).toBe('204');
  expect(await make()).toBe('201');
});

test('lists show those of an Environment with its organizations, and those of the Account separately', async () => {
  const other = await newAccount(api);
  const calls = callsOf(api, other.accountSlug, await other.as('owner'));
  const organization = (await calls('POST', `${inEnvironment}/organizations`, { name: 'Acme' })).json().data.id;
  await calls('POST', `${inEnvironment}/sso-connections`, { ...oidc, name: 'Everybody' });
  await calls('POST', `${inEnvironment}/sso-connections`, {
    ...oidc,
    name: 'Acme only',
    organization_id: organization,
  });
  await calls('POST', '/sso/connections', { ...oidc, name: 'Team' });
  const namesAt = async (path: string) =>
    (await calls('GET', `${path}${path.includes('?') ? '&' : '?'}order=asc`))
      .json()
      .items.map(
        ({ connection }: { connection: { name: string; scope: string } }) => `${connection.name} ${connection.scope}`,
      );
  const ofEnvironment = `${inEnvironment}/sso-connections`;
  expect(await namesAt(ofEnvironment)).toEqual(['Everybody identity', 'Acme only organization']);
  expect(await namesAt(`${ofEnvironment}?organization_id=${organization}`)).toEqual(['Acme only organization']);
  expect(await namesAt(`${ofEnvironment}?q=every`)).toEqual(['Everybody identity']);
  expect(await namesAt(`${ofEnvironment}?status=active`)).toEqual([]);
  expect(await namesAt('/sso/connections')).toEqual(['Team admin']);
  const viewer = callsOf(api, other.accountSlug, await other.as('viewer'));
  expect((await viewer('GET', '/sso/connections')).statusCode).toBe(200);
  expect(outcomeOf(await viewer('POST', '/sso/connections', oidc))).toBe('403 account.capability_required');
});
