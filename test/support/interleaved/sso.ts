import { randomUUID } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { createErasures } from '../../../src/domain/erasures/erasures.js';
import { counterTotal } from '../../../src/domain/lists/counters.js';
import { minutes } from '../../../src/platform/clock.js';
import { sealing } from '../administrators.js';
import { here, outcomeOf } from '../answers.js';
import { baseUrl, type TestAccount, type TestApi } from '../api.js';
import { callsOf } from '../calls.js';
import { finishErasure } from '../erasures.js';
import { callsWith } from '../nodes.js';
import { Browser, locationOf } from '../oauth/browser.js';
import { redirectUri } from '../oauth/environment.js';
import { authorizeUrl, newPkce } from '../oauth/sign-in.js';
import { postToken } from '../oauth/tokens.js';
import { type OpenIdProvider, signInThere, signOutThere } from '../openid-provider.js';
import { publicClient } from '../public-client.js';
import { rowsOf } from '../rows.js';
import { logoutRequestXml, signedQuery } from '../saml/logout.js';
import type { ResponseParts } from '../saml/provider.js';
import { answerTo, giveSigningKey, newSamlProvider } from '../saml/sign-in.js';
import { newDirectory, newUser, operations } from '../scim.js';
import { failureIn, newOidcConnection, newVerifiedDomain } from '../sso.js';

/** A person who signs in by the provider of an organization or of an Environment, for the first time or again. */
export interface Arriving {
  by: 'organization' | 'environment';
  isKnown: boolean;
  /** Settings of their connection. */
  settings?: Partial<SsoConnection>;
}

interface BackFromProvider {
  browser: Browser;
  url: string;
}

/** A person who signs in by a provider, and where. */
export interface Person {
  /** Id of their Identity, if they have one already. */
  id: string | null;
  email: string;
  domain: string;
  organizationId: string;
  role: { id: string; version: number };
  connection: SsoConnection;
  /** Later events are theirs. */
  since: string;
  /**
   * Sends the provider's answer, for which a browser then waits; with OpenID Connect, the browser calls back with it.
   */
  post(changes?: Partial<ResponseParts>): Promise<BackFromProvider>;
  /** Their cookies at an OpenID provider, except those of the second browser. */
  jar: Map<string, string>;
  /** The logout token of an OpenID provider for its ended session. */
  logoutToken: Promise<string> | null;
  /** Id of their erasure, if one was requested. */
  erasure: string | null;
  /** Two browsers for which the provider's answers have arrived. */
  tabs: [BackFromProvider, BackFromProvider];
  codes: string[];
  /**
   * Whether their provider was replaced but not their session ended: a new session does not begin, an old one stays.
   */
  hasLostProvider: boolean;
  /** Whether the first of the two browsers has fetched its answer. */
  hasCome: boolean;
}

const otherSite = { origin: 'https://idp.acme.example' };

/** OpenID providers by which people then sign in: their own, and another that can replace it. */
export interface OpenIdProviders {
  theirs: OpenIdProvider;
  another: OpenIdProvider;
  /** Ids for connections to be created, whose callbacks both know. */
  ids: string[];
}

/**
 * People who sign in by a provider, of SAML unless `openId` is given, and what can happen to them at the same moment.
 */
export async function newInterleavedSso(api: TestApi, account: TestAccount, openId: OpenIdProviders | null = null) {
  const { db } = api.database;
  const { scope } = account;
  const world = { db, now: () => api.clock.now, sealing };
  const idp = await newSamlProvider();
  const pkce = newPkce();
  const erasures = createErasures(world);
  const key = callsWith(api, await account.apiKey());
  const owner = callsOf(api, account.accountSlug, await account.as('owner'));
  const directory = await newDirectory(api, account);
  const asked = { ...publicClient, redirectUris: [redirectUri] };
  const { client } = await api.services.clientManagement.create(scope, asked);
  await rowsOf(api, `update environment_settings set mfa_policy = 'off' where environment_id = $1`, [
    scope.environmentId,
  ]);

  async function sentAway(connection: SsoConnection) {
    const browser = new Browser(api.app);
    const query = authorizeUrl(client, { code_challenge: pkce.challenge }).replace('/oauth/authorize?', '');
    const away = await browser.get(`/oauth/sso?connection_id=${connection.id}&${query}`);
    return { browser, url: String(away.headers.location) };
  }
  async function posting(connection: SsoConnection, nameId: string, jar = new Map()): Promise<Person['post']> {
    const { browser, url } = await sentAway(connection);
    if (connection.type === 'oidc') {
      const back = (await signInThere(url, nameId, jar)).replace(baseUrl, '');
      return async () => {
        const called = await browser.get(back);
        return { browser, url: called.statusCode === 303 ? here(called) : '' };
      };
    }
    return async (changes = {}) => {
      const { path, form } = answerTo(url, idp, api.clock.now, { nameId, ...changes });
      const isAsked = changes.inResponseTo !== null;
      const poster = isAsked ? new Browser(api.app) : browser;
      const posted = await poster.post(path, isAsked ? form : { ...form, RelayState: client.clientId }, otherSite);
      return { browser, url: posted.statusCode === 303 ? here(posted) : '' };
    };
  }
  const answered = async (connection: SsoConnection, nameId: string, jar?: Map<string, string>) =>
    (await posting(connection, nameId, jar))();

  async function make({ by, isKnown, settings }: Arriving): Promise<Person> {
    if (openId) api.clock.now = new Date(); // the providers use the real time
    const domain = `${randomUUID()}.example`;
    const email = `ana@${domain}`;
    const organizationId: string = (await key('POST', '/organizations', { name: domain })).json().data.id;
    const role = (await key('POST', '/roles', { name: domain, permission_keys: [] })).json().data;
    const its = by === 'organization' ? organizationId : null;
    await newVerifiedDomain(world, scope, domain, its);
    const id = openId?.ids.pop() ?? randomUUID();
    const fields = { id, ...(!openId && idp.fields), organizationId: its, defaultRoleId: role.id, ...settings };
    const none = { issuer: '', clientId: '', clientSecret: '' };
    const connection = await newOidcConnection(world, scope, openId?.theirs ?? none, fields);
    await giveSigningKey(world, connection);
    const claims = { email, email_verified: true };
    for (const provider of openId ? [openId.theirs, openId.another] : []) provider.people.set(email, claims);
    const jar = new Map<string, string>();
    const known = isKnown ? await newUser(directory, { userName: email }) : null;
    if (isKnown) {
      const { browser, url } = await answered(connection, email);
      expect(cameTo(await browser.get(url))).toBe('code');
    }
    const [time] = await rowsOf<{ now: string }>(api, 'select clock_timestamp()::text as now');
    const tabs: Person['tabs'] = [await answered(connection, email, jar), await answered(connection, email)];
    return {
      id: known?.id ?? null,
      email,
      domain,
      organizationId,
      role,
      connection,
      since: time!.now,
      post: await posting(connection, email, jar),
      jar,
      logoutToken: null,
      erasure: null,
      tabs,
      codes: [],
      hasLostProvider: false,
      hasCome: false,
    };
  }

  const complete = (tab: 0 | 1) => async (person: Person) => {
    const { browser, url } = person.tabs[tab];
    if (tab === 0) person.hasCome = true;
    if (url === '') return 'nowhere';
    const response = await browser.get(url);
    const came = cameTo(response);
    if (came === 'code') person.codes.push(locationOf(response).searchParams.get('code') as string);
    // `left` redeems the codes. A person whose session could not begin any more is redirected to sign in again.
    return ['code', '303 /oauth/authorize', '303 /oauth/account'].includes(came) ? 'goes on' : came;
  };
  const answering = (changes?: Partial<ResponseParts>) => async (person: Person) => {
    person.tabs[0] = await person.post(changes);
    return person.tabs[0].url === '' ? 'refused' : 'kept';
  };
  async function tellLogout(person: Person, provider: OpenIdProvider) {
    person.logoutToken ??= signOutThere(
      `${provider.issuer}/session/end?client_id=${provider.clientId}`,
      person.jar,
    ).then(() => provider.logoutTokens.at(-1) as string);
    const path = `/sso/oidc/${person.connection.id}/backchannel-logout`;
    const told = await new Browser(api.app).post(path, { logout_token: await person.logoutToken });
    return String(told.statusCode);
  }
  const connectionPath = ({ connection }: Person) =>
    `/applications/${account.applicationSlug}/environments/development/sso-connections/${connection.id}`;
  const address = ({ email }: Person) => ({ userName: email, emails: [{ value: email, primary: true }] });
  const inactive = operations({ op: 'replace', path: 'active', value: false });

  const happenings = {
    /**
     * Another person is sent to the provider; if the connection was deleted, they are refused in one way or another.
     */
    async begin({ connection }: Person) {
      const asked = authorizeUrl(client).replace('/oauth/authorize?', '');
      const { statusCode, headers } = await new Browser(api.app).get(
        `/oauth/sso?connection_id=${connection.id}&${asked}`,
      );
      if (statusCode === 303) return new URL(String(headers.location)).origin;
      return statusCode === 400 || statusCode === 403 ? 'refused' : String(statusCode);
    },
    complete: complete(0),
    completeInSecondTab: complete(0),
    signInElsewhere: complete(1),
    answer: answering(),
    /** An answer that counts as a failure of the connection. */
    lateAnswer: answering({ notOnOrAfter: new Date(api.clock.now.getTime() - minutes(10)) }),
    /** The provider sends them without a request of ours. */
    answerUnasked: answering({ inResponseTo: null }),
    deactivate: async ({ id }: Person) => outcomeOf(await key('POST', `/identities/${id}/deactivate`)),
    remove: async ({ id }: Person) => outcomeOf(await key('DELETE', `/identities/${id}`)),
    leave: async ({ id, organizationId }: Person) =>
      outcomeOf(await key('DELETE', `/organizations/${organizationId}/members/${id}`)),
    join: async ({ id, organizationId }: Person) =>
      outcomeOf(await key('POST', `/organizations/${organizationId}/members`, { identity_id: id })),
    changeAddress: async ({ id, domain }: Person) =>
      outcomeOf(await key('PATCH', `/identities/${id}`, { email: `ana-${domain}@elsewhere.example` })),
    create: async ({ email }: Person) => outcomeOf(await key('POST', '/identities', { email })),
    provision: async (person: Person) => String((await directory('POST', '/Users', address(person))).statusCode),
    /** Requests the erasure; `left` runs its process, and nobody can sign in meanwhile. */
    async erase(person: Person) {
      person.erasure = (await erasures.request(scope, person.id as string)).id;
      return 'asked for';
    },
    suspend: async ({ id }: Person) => String((await directory('PATCH', `/Users/${id}`, inactive)).statusCode),
    deprovision: async ({ id }: Person) => String((await directory('DELETE', `/Users/${id}`)).statusCode),
    disable: async (person: Person) => outcomeOf(await owner('POST', `${connectionPath(person)}/disable`)),
    deleteConnection: async (person: Person) => outcomeOf(await owner('DELETE', connectionPath(person))),
    async nameAnotherProvider(person: Person) {
      person.hasLostProvider = true;
      const another = openId
        ? { oidc_discovery_url: openId.another.issuer, oidc_client_secret: openId.another.clientSecret }
        : { saml_entity_id: 'https://another.example/saml' };
      return outcomeOf(await owner('PATCH', connectionPath(person), another));
    },
    /** Deletes the role, which the connection does not assign any more. */
    async deleteRole(person: Person) {
      const { role } = person;
      const given = outcomeOf(await owner('PATCH', connectionPath(person), { default_role_id: null }));
      return `${given}, ${outcomeOf(await key('DELETE', `/roles/${role.id}`, undefined, role.version))}`;
    },
    async deleteOrganization({ organizationId }: Person) {
      const path = `/nodes/${organizationId}`;
      return outcomeOf(await key('DELETE', path, undefined, (await key('GET', path)).json().data.version));
    },
    releaseDomain: async ({ organizationId, domain, connection }: Person) =>
      connection.organizationId
        ? outcomeOf(await key('DELETE', `/organizations/${organizationId}/domains/${domain}`))
        : outcomeOf(await owner('DELETE', `/sso/domains/${domain}`)),
    async logOutAtProvider(person: Person) {
      const { connection, email } = person;
      if (openId) return tellLogout(person, openId.theirs);
      const path = `/sso/saml/${connection.id}/slo`;
      const format = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';
      const xml = logoutRequestXml({
        issuer: idp.issuer,
        destination: `${baseUrl}${path}`,
        issueInstant: api.clock.now,
        content: `<saml:NameID Format="${format}">${email}</saml:NameID>`,
      });
      const url = `${path}?${signedQuery('SAMLRequest', xml, idp.key)}`;
      return String((await new Browser(api.app).get(url)).statusCode);
    },
  };

  /**
   * Returns who they are in the end, what they hold and the events, except of sessions. Fetches an answer left waiting.
   */
  async function left(person: Person) {
    if (person.erasure !== null) await finishErasure(erasures, person.erasure);
    const then = person.hasCome ? null : await complete(0)(person);
    const { domain, connection, organizationId, since, hasLostProvider } = person;
    const { accountId, environmentId } = scope;
    const [row] = await rowsOf(
      api,
      `with people as (select id from identities where email like $5),
         memberships as (select * from environment_memberships where environment_id = $2)
       select (select count(*) from people) as people,
         (select array_agg(is_active) from memberships where identity_id in (select id from people)) as active,
         (select count(*) from organization_members where organization_id = $4) as members,
         (select member_count from organizations where id = $4) as member_count,
         ${counterTotal('identities')} - (select count(*) from memberships) as miscounted,
         (select count(*) from role_assignments where identity_id in (select id from people) and removed_at is null) as roles,
         (select array_agg(identity_id in (select id from people)) from sso_links where connection_id = $3) as links,
         (select count(*) from sso_sessions s where connection_id = $3
            and not exists (select from sso_links where id = s.link_id)) as unlinked,
         (select status || ' ' || consecutive_failures from sso_connections where id = $3) as connection`,
      [accountId, environmentId, connection.id, organizationId, `%${domain}%`],
    );
    const told = await rowsOf<{ told: string }>(
      api,
      `select action::text || ' ' || count(*) as told from events
       where account_id = $1 and created_at > $2::timestamptz
         and action not in ('identity.signed_in', 'auth.identity_signed_out', 'identity.sessions_revoked')
       group by action order by action`,
      [accountId, since],
    );
    const may = hasLostProvider ? {} : await access(person);
    return { ...row, told: told.map((event) => event.told), then, ...may };
  }

  /** Returns how many of their codes work, and which of their browsers are signed in. */
  async function access({ codes, tabs }: Person) {
    const fields = { grant_type: 'authorization_code', redirect_uri: redirectUri, code_verifier: pkce.verifier };
    const redeemed = codes.map((code) => postToken(api.app, client as never, { ...fields, code }));
    const given = (await Promise.all(redeemed)).filter(({ statusCode }) => statusCode === 200).length;
    const isIn = async ({ browser }: BackFromProvider) =>
      cameTo(await browser.get(authorizeUrl(client, { prompt: 'none' }))) === 'code';
    return { given, in: [await isIn(tabs[0]), await isIn(tabs[1])] };
  }

  return { make, happenings: happenings as Record<keyof typeof happenings, (person: Person) => Promise<string>>, left };
}

/** Returns what an answer to a browser means: `code`, an error at the client, a page of ours, or its refusal. */
function cameTo(response: LightMyRequestResponse): string {
  const { statusCode, headers } = response;
  if (!headers.location) return failureIn(response).join(' ');
  const { pathname, searchParams } = locationOf(response);
  return searchParams.has('code') ? 'code' : (searchParams.get('error') ?? `${statusCode} ${pathname}`);
}
