import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { Node, type NodeStatus } from '../../../entities/node.js';
import { OrganizationMember } from '../../../entities/organization-member.js';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { addMember } from '../../../src/domain/organizations/members.js';
import { minutes } from '../../../src/platform/clock.js';
import { credentialsOf, noCredentials, plantFactors } from '../../support/credentials.js';
import { apiOf } from '../../support/identity-auth.js';
import { codeIn } from '../../support/mfa.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { password, redirectUri, type TestClient, type TestEnvironment } from '../../support/oauth/environment.js';
import { authorizeUrl, newPkce } from '../../support/oauth/sign-in.js';
import { redeem } from '../../support/oauth/tokens.js';
import { signInThere } from '../../support/openid-provider.js';
import { newOrganization, setPolicy, type TestOrganization } from '../../support/organizations.js';
import { newOther } from '../../support/other-environment.js';
import {
  failureIn,
  newOidcConnection,
  newSsoPlace,
  newVerifiedDomain,
  reasonsAt,
  returnFromProvider,
  type SsoPlace,
  startSsoWorld,
} from '../../support/sso.js';
import { comingUpon } from '../../support/uncommitted.js';

const baseUrl = 'http://localhost:3000';
const { idp, world, stop, nextConnectionId, newPerson } = await startSsoWorld(50);
afterAll(() => stop());

/** Creates an Environment with an organization whose provider signs in people of acme.example. */
const place = (overrides: Partial<SsoConnection> = {}, settings: Partial<EnvironmentSettings> = {}) => {
  const id = nextConnectionId();
  return newSsoPlace(world, idp, { id, ...overrides }, { emailOtpLoginEnabled: true, ...settings });
};
const somebody = (claims: object = {}) => newPerson({ given_name: 'Ana', family_name: 'Arendt', ...claims });

/** Signs in at the provider; returns the answer of `/sso/complete`. */
async function walk(browser: Browser, url: string, login: string, jar?: Map<string, string>) {
  const away = await browser.get(url);
  expect(String(away.headers.location)).toContain(idp.issuer);
  return returnFromProvider(browser, String(away.headers.location), login, jar);
}

describe('the way there and back', () => {
  test('a new person signs in by their organization, becomes its member, and the client gets a code', async () => {
    const { client, organization, connection } = await place();
    const { login, email } = somebody({ amr: ['pwd', 'face', 'made-up'] });
    const { verifier, challenge } = newPkce();
    const browser = world.browser();
    const url = authorizeUrl(client, {
      organization: organization.slug,
      code_challenge: challenge,
      scope: 'openid email profile org',
    });
    const code = codeIn(await walk(browser, url, login));
    const tokens = (await redeem(world.app, client, { code: code ?? '', verifier, redirect: redirectUri })).json();
    const claims = decodeJwt(tokens.id_token);
    expect(claims).toMatchObject({
      email,
      email_verified: true,
      given_name: 'Ana',
      amr: ['face', 'pwd'],
      acr: 'urn:gatehouse:aal1',
    });
    expect(claims.organizations).toEqual([expect.objectContaining({ id: organization.id })]);
    const [session] = await world.query('select sso_connection_id as id from sessions where identity_id = $1', [
      claims.sub,
    ]);
    expect(session).toEqual({ id: connection.id });
    const signedIn = await world.query<{ metadata: object }>(
      `select metadata from events where action = 'identity.signed_in' and resource_id = $1`,
      [claims.sub],
    );
    expect(signedIn).toEqual([{ metadata: expect.objectContaining({ connection_id: connection.id }) }]);
    // The next time, the existing session is enough.
    expect(codeIn(await browser.get(url))).toBeTruthy();
  });

  test('an answer that is requested again leads to the same sign-in, and a completed one begins again', async () => {
    const { client } = await place();
    const { login } = somebody();
    const browser = world.browser();
    const away = await browser.get(authorizeUrl(client, { login_hint: 'ana@acme.example' }));
    const back = (await signInThere(String(away.headers.location), login)).replace(baseUrl, '');
    const first = await browser.get(back);
    const repeated = await browser.get(back); // the answer was lost on the way
    expect(repeated.headers.location).toBe(first.headers.location);
    expect(codeIn(await browser.get(String(repeated.headers.location)))).toBeTruthy();
    const over = await browser.get(String(repeated.headers.location));
    expect([over.statusCode, locationOf(over).pathname]).toEqual([303, '/oauth/authorize']);
    expect(codeIn(await browser.get(String(over.headers.location)))).toBeTruthy(); // by the session
    const kept = await world.query(
      'select sealed_answer, sealed_secrets from sso_requests where completed_at is not null',
    );
    for (const row of kept) expect(row).toEqual({ sealed_answer: null, sealed_secrets: null });
  });

  test('a HEAD request uses nothing up', async () => {
    const { client } = await place();
    const { login } = somebody();
    const browser = world.browser();
    const away = await browser.get(authorizeUrl(client, { login_hint: 'x@acme.example' }));
    const back = (await signInThere(String(away.headers.location), login)).replace(baseUrl, '');
    expect((await world.app.inject({ method: 'HEAD', url: back })).statusCode).toBe(200);
    expect(codeIn(await browser.get(String((await browser.get(back)).headers.location)))).toBeTruthy();
  });

  test('many simultaneous sign-ins of one new person create one Identity', async () => {
    const { client, connection } = await place();
    const { login, email } = somebody();
    const answers = await Promise.all(
      Array.from({ length: 4 }, async () =>
        codeIn(await walk(world.browser(), authorizeUrl(client, { login_hint: email }), login)),
      ),
    );
    expect(answers.every(Boolean)).toBe(true);
    const links = await world.query('select identity_id from sso_links where connection_id = $1', [connection.id]);
    expect(links).toHaveLength(1);
  });
});

describe('which provider', () => {
  const whereTo = async (client: TestClient, more: Record<string, string>) => {
    const answer = await world.browser().get(authorizeUrl(client, more));
    return answer.statusCode === 303 ? locationOf(answer).origin : answer.statusCode;
  };

  test('is that of the organization, else that of the hinted address, else the default one; with prompt=none, and where the page was asked for, nobody is redirected', async () => {
    const { environment, client, organization, connection } = await place();
    expect(await whereTo(client, {})).toBe(200);
    expect(await whereTo(client, { organization: organization.id })).toBe(idp.issuer);
    expect(await whereTo(client, { login_hint: 'Somebody@ACME.example' })).toBe(idp.issuer);
    expect(await whereTo(client, { login_hint: 'somebody@other.example' })).toBe(200);
    expect(await whereTo(client, { login_hint: 'somebody@sub.acme.example' })).toBe(200);
    const own = await newOidcConnection(world, environment, idp, { id: nextConnectionId() });
    await setDefault(environment, own.id);
    const default_ = await world.browser().get(authorizeUrl(client));
    expect(locationOf(default_).searchParams.get('redirect_uri')).toContain(own.id);
    const hinted = await world.browser().get(authorizeUrl(client, { login_hint: 'a@acme.example' }));
    expect(locationOf(hinted).searchParams.get('redirect_uri')).toContain(connection.id);
    for (const method of ['code', 'password']) expect(await whereTo(client, { method })).toBe(200);
    const silent = await world.browser().get(authorizeUrl(client, { prompt: 'none' }));
    expect(locationOf(silent).searchParams.get('error')).toBe('login_required');
    await setStatus(own, 'disabled');
    expect(await whereTo(client, {})).toBe(200);
  });

  test('gets the parameters of the sign-in request', async () => {
    const { client } = await place();
    const more = { login_hint: 'ana@acme.example', prompt: 'login', max_age: '60' };
    const { searchParams } = locationOf(await world.browser().get(authorizeUrl(client, more)));
    expect(Object.fromEntries(searchParams)).toMatchObject(more);
  });

  test('is reached from a typed address by a page, since a form may not redirect there', async () => {
    const { client, connection } = await place();
    const { login, email } = somebody();
    const browser = world.browser();
    const page = await browser.get(authorizeUrl(client));
    expect(page.body).toContain('formaction="/oauth/sso"');
    const typed = await browser.submit(page, { email, password: '' });
    expect([typed.statusCode, typed.headers.location]).toEqual([200, undefined]);
    const url = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(typed.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(new URL(url).searchParams.get('login_hint')).toBe(email);
    const back = await signInThere(url, login);
    const answered = await browser.get(back.replace(baseUrl, ''));
    expect(codeIn(await browser.get(String(answered.headers.location)))).toBeTruthy();

    const parameters = Object.fromEntries(new URL(authorizeUrl(client), baseUrl).searchParams);
    const nobody = await browser.post('/oauth/sso', { ...parameters, email: 'ana@nowhere.example' });
    expect([nobody.statusCode, nobody.body.includes('Sign-in through an organization is not set up')]).toEqual([
      200,
      true,
    ]);
    const script = await browser.post('/oauth/sso', { ...parameters, email }, { accept: 'application/json' });
    expect(script.json().redirect_to).toContain(idp.issuer);
    const foreign = await browser.post('/oauth/sso', { ...parameters, email }, { origin: 'https://evil.example.com' });
    expect(foreign.statusCode).toBe(403);

    // After a failure the typed address need not be typed again.
    const late = await signInThere(script.json().redirect_to, login);
    await setStatus(connection, 'disabled');
    const delivered = await browser.get(late.replace(baseUrl, ''));
    const failed = await browser.get(String(delivered.headers.location));
    expect(failureIn(failed)).toEqual([403, 'sso.connection_disabled']);
    expect(failed.body).toContain(`login_hint=${encodeURIComponent(email)}`);
  });

  test('cannot be chosen from another Environment, or if it is unknown: that is a page', async () => {
    const { client } = await place();
    const { connection } = await place();
    const query = authorizeUrl(client).replace('/oauth/authorize?', '');
    for (const id of [connection.id, uuidv7(), 'x', ''])
      expect((await world.browser().get(`/oauth/sso?${query}&connection_id=${id}`)).statusCode).toBe(400);
  });
});

describe('an answer lets in', () => {
  const enter = async ({ client, connection }: SsoPlace, login: string) => {
    const query = authorizeUrl(client).replace('/oauth/authorize?', '');
    const page = await walk(world.browser(), `/oauth/sso?${query}&connection_id=${connection.id}`, login);
    return page.statusCode === 303 && codeIn(page) ? 'in' : failureIn(page);
  };
  const identitiesWith = (email: string) =>
    world.query<{ id: string; email_verified_at: Date | null; password_hash: string | null; first_name: string }>(
      'select * from identities where email = $1',
      [email],
    );

  test('a person with the address of a verified domain, who stays the same under another address', async () => {
    const there = await place({ jitProvisioningEnabled: false });
    const { login, email } = somebody();
    const ana = await there.environment.newIdentity({ email });
    expect(await enter(there, login)).toEqual([403, 'sso.not_a_member']);
    const organization = await newOrganization(world, there.environment, { members: [ana] });
    await world.db.transaction('system', (tx) =>
      tx.update(SsoConnection, { id: there.connection.id }, { organizationId: organization.id }),
    );
    await newVerifiedDomain(world, there.environment, 'moved.example', organization.id);
    await world.query(
      `update sso_domains set organization_id = $1 where domain = 'acme.example' and environment_id = $2`,
      [organization.id, there.environment.environmentId],
    );
    expect(await enter(there, login)).toBe('in');
    idp.people.set(login, { email: 'other@foreign.example', email_verified: false });
    expect(await enter(there, login)).toBe('in');
    expect(await reasonsAt(world, there)).toEqual(['not_a_member']);
  });

  test('the new owner of an address as a new person, and not as its former owner, whom the provider knows by another subject', async () => {
    const there = await place();
    const { login, email } = somebody();
    const next = `next-${login}`;
    expect(await enter(there, login)).toBe('in');
    const owners = () => identitiesWith(email).then((found) => found.map(({ id }) => id));
    const [ana] = await owners();
    idp.people.set(next, { email, email_verified: true, given_name: 'Berta' });
    expect(await enter(there, next)).toEqual([403, 'sso.subject_mismatch']);
    expect(await enter(there, login)).toBe('in');
    expect(await reasonsAt(world, there)).toEqual(['subject_mismatch']);
    // The earlier person has another address by now: the new one is new.
    await world.query('update identities set email = $2 where id = $1', [ana, `was-${email}`]);
    expect(await enter(there, next)).toBe('in');
    const [berta] = await owners();
    expect(berta).not.toBe(ana);
    // The provider issues a new subject for everybody.
    await world.query('delete from sso_links where connection_id = $1', [there.connection.id]);
    idp.people.set(`anew-${login}`, { email, email_verified: true });
    expect(await enter(there, `anew-${login}`)).toBe('in');
    expect(await owners()).toEqual([berta]);
    // A subject that is an address is deleted with the link.
    await world.query(`update sso_links set subject = 'someone@acme.example' where identity_id = $1`, [berta]);
    expect(await enter(there, next)).toBe('in');
  });

  test('people known by their addresses, whomever else the provider has named, and however other providers name them', async () => {
    const there = await place();
    const [ana, bob] = [somebody(), somebody()];
    for (const { login, email } of [ana, bob]) {
      const { id } = await there.environment.newIdentity({ email });
      expect([await enter(there, login), await identitiesWith(email)]).toMatchObject(['in', [{ id }]]);
    }
    const before = await newOidcConnection(world, there.environment, idp);
    await world.query(
      `update sso_links set connection_id = $2, subject = subject || ' there' where connection_id = $1`,
      [there.connection.id, before.id],
    );
    expect(await enter(there, bob.login)).toBe('in');
  });

  test('nobody by an unconfirmed address or an address of a foreign domain: no identity is linked or created', async () => {
    const there = await place();
    const victim = await there.environment.newIdentity({ email: `victim-${uuidv7()}@acme.example` });
    const stranger = await there.environment.newIdentity({ email: `stranger-${uuidv7()}@other.example` });
    const login = `mallory-${uuidv7()}`;
    const tries: [object, string][] = [
      [{ email: victim.email, email_verified: false }, 'sso.email_unverified'],
      [{ email: stranger.email, email_verified: true }, 'sso.domain_not_verified'],
      [{ email: `new-${uuidv7()}@other.example` }, 'sso.domain_not_verified'],
      [{ email: 'x@sub.acme.example' }, 'sso.domain_not_verified'],
      [{ email: 'acme.example' }, 'sso.email_missing'],
      [{ email: `"x@other.example"@evil@acme.example.evil.example` }, 'sso.email_missing'],
      [{}, 'sso.email_missing'],
    ];
    for (const [claims, refusal] of tries) {
      idp.people.set(login, claims as Record<string, unknown>);
      expect(await enter(there, login)).toEqual([403, refusal]);
    }
    expect(await world.query('select from sso_links where connection_id = $1', [there.connection.id])).toEqual([]);
  });

  test('no person who has left the organization and has another address, by its provider', async () => {
    const there = await place();
    const { login, email } = somebody();
    expect(await enter(there, login)).toBe('in');
    const [{ id } = { id: '' }] = await identitiesWith(email);
    await world.query('update identities set email = $2 where id = $1', [id, `${uuidv7()}@private.example`]);
    expect(await enter(there, login)).toBe('in'); // a member, whatever their address
    expect(await enter(there, somebody().login)).toBe('in'); // as another one stays
    await world.query('delete from organization_members where identity_id = $1', [id]);
    expect(await enter(there, login)).toEqual([403, 'sso.domain_not_verified']);
    await world.query('update identities set email = $2 where id = $1', [id, email]);
    expect(await enter(there, login)).toBe('in'); // a member again
  });

  /** Creates a person who signed in by the provider, left its organization since, and has a new address, also there. */
  async function whoHasLeft() {
    const there = await place();
    const { login, email } = somebody();
    expect(await enter(there, login)).toBe('in');
    const [{ id } = { id: '' }] = await identitiesWith(email);
    await world.query('delete from organization_members where identity_id = $1', [id]);
    await world.query('update identities set email = $2 where id = $1', [id, `${uuidv7()}@private.example`]);
    idp.people.set(login, { email: `${uuidv7()}@private.example`, email_verified: true });
    const member = { organizationId: there.organization.id, identityId: id, roleIds: [], at: world.now() };
    return { there, login, email, id, member };
  }

  test('nor one who is added again: they are recognized by their address, as at first', async () => {
    const { there, login, email, id, member } = await whoHasLeft();
    expect(await world.db.transaction('system', (tx) => addMember(tx, there.environment, member))).toBe(true);
    expect(await enter(there, login)).toEqual([403, 'sso.domain_not_verified']);
    await world.query('update identities set email = $2 where id = $1', [id, email]);
    idp.people.set(login, { email, email_verified: true });
    expect(await enter(there, login)).toBe('in');
    expect(await identitiesWith(email)).toMatchObject([{ id }]);
  });

  test('nor one at the moment in which they are added again', async () => {
    const { there, login, member } = await whoHasLeft();
    const came = await comingUpon(
      world.database,
      (tx) => addMember(tx, there.environment, member),
      () => enter(there, login),
    );
    expect(came).toEqual([403, 'sso.domain_not_verified']);
  });

  test('nobody by an invalid address, nor by a name that cannot be stored', async () => {
    const there = await place();
    const login = `mallory-${uuidv7()}`;
    for (const email of [
      'victim@other.example, mallory@acme.example',
      '"victim@other.example" <mallory@acme.example>',
      'mallory@acme.example/../other.example',
      'mallory@acme.example:25',
      'mallory\r\nbcc: victim@other.example@acme.example',
      'mallory\u0000@acme.example',
      `${'m'.repeat(300)}@acme.example`,
      `${'m'.repeat(65)}@acme.example`,
      '@acme.example',
    ]) {
      idp.people.set(login, { email, email_verified: true });
      expect([email, await enter(there, login)]).toEqual([email, [403, 'sso.email_missing']]);
    }
    const nobody = `nobody\u0000${uuidv7()}`;
    idp.people.set(nobody, { email: 'nobody@acme.example' });
    expect(await enter(there, nobody)).toEqual([403, 'sso.subject_missing']);
    const known = await there.environment.newIdentity({ email: `${'k'.repeat(65)}@acme.example` }); // from before there was a length limit
    idp.people.set(known.id, { email: known.email, email_verified: true });
    expect(await enter(there, known.id)).toBe('in');
    idp.people.set(login, { email: `${login}@ＡＣＭＥ.example` });
    expect(await enter(there, login)).toBe('in');
    expect(await identitiesWith(`${login}@acme.example`)).toHaveLength(1);
  });

  test('people of the Account’s domain by a connection of the Environment, and not by an organization’s', async () => {
    const environment = await world.newEnvironment({ mfaPolicy: 'off' });
    const client = await environment.newClient();
    await newVerifiedDomain(world, environment, `${uuidv7()}.example`);
    const domain = `${uuidv7()}.example`;
    await newVerifiedDomain(world, environment, domain);
    const organization = await newOrganization(world, environment);
    const connection = await newOidcConnection(world, environment, idp, { id: nextConnectionId() });
    const ofOrganization = await newOidcConnection(world, environment, idp, {
      id: nextConnectionId(),
      organizationId: organization.id,
    });
    const login = `ana-${uuidv7()}`;
    idp.people.set(login, { email: `ana@${domain}` });
    expect(await enter({ environment, client, organization, connection: ofOrganization }, login)).toEqual([
      403,
      'sso.domain_not_verified',
    ]);
    expect(await enter({ environment, client, organization, connection }, login)).toBe('in');
  });

  test('no unknown person where nobody is created, and no deactivated one', async () => {
    const closed = await place({ jitProvisioningEnabled: false });
    expect(await enter(closed, somebody().login)).toEqual([403, 'sso.identity_unknown']);
    const open = await place();
    const { login, email } = somebody();
    expect(await enter(open, login)).toBe('in');
    const [{ id } = { id: '' }] = await identitiesWith(email);
    await world.query('update environment_memberships set is_active = false where identity_id = $1', [id]);
    expect(await enter(open, login)).toEqual([403, 'sso.identity_inactive']);
  });

  test('the owner of an unconfirmed identity, and deletes the password that its creator has set', async () => {
    const there = await place();
    const { login, email } = somebody();
    await there.environment.newIdentity({ email, emailVerifiedAt: null });
    expect(await enter(there, login)).toBe('in');
    expect(await identitiesWith(email)).toEqual([
      expect.objectContaining({ password_hash: null, email_verified_at: expect.any(Date) }),
    ]);
  });

  test('nor does an earlier session of it under another address, a second factor or a link', async () => {
    const there = await place();
    const [before, owner] = [somebody(), somebody()];
    expect(await enter(there, before.login)).toBe('in');
    const [{ id } = { id: '' }] = await identitiesWith(before.email);
    const ended = () =>
      world.query<{ id: string }>('select id from sessions where identity_id = $1 and revoked_at is not null', [id]);
    await world.query('update identities set email = $2, email_verified_at = null where id = $1', [id, owner.email]);
    await plantFactors(world.query, id);
    expect(await ended()).toEqual([]);
    expect(await enter(there, owner.login)).toBe('in');
    // The link is the owner's own.
    expect(await credentialsOf(world.query, id)).toEqual({ ...noCredentials, links: 1 });
    const [session] = await ended();
    const events = await world.query<{ action: string; metadata: object }>(
      `select action, metadata from events where resource_id = $1
         and action in ('identity.email_verified', 'identity.sessions_revoked') order by action`,
      [id],
    );
    expect(events).toEqual([
      { action: 'identity.email_verified', metadata: { method: 'sso' } },
      { action: 'identity.sessions_revoked', metadata: { reason: 'email_verified', session_ids: [session?.id] } },
    ]);
    const grants = 'select from grants where session_id = $1 and revoked_at is null';
    expect(await world.query(grants, [session?.id])).toEqual([]);
    expect(await enter(there, before.login)).toBe('in'); // as another person
    expect(await identitiesWith(before.email)).toEqual([expect.not.objectContaining({ id })]);
  });

  test('a person whose profile is filled by the mapping at every sign-in; values that cannot be stored are left out', async () => {
    const there = await place({
      attributeMapping: { first_name: 'nickname', last_name: 'family_name', email: 'email' },
    });
    const { login, email } = somebody();
    expect(await enter(there, login)).toBe('in');
    expect((await identitiesWith(email))[0]).toMatchObject({ first_name: 'Ana', last_name: 'Arendt' });
    idp.people.set(login, { email, family_name: 'Blücher' });
    expect(await enter(there, login)).toBe('in');
    idp.people.set(login, { email, family_name: 'x\u0000y' });
    expect(await enter(there, login)).toBe('in');
    expect((await identitiesWith(email))[0]).toMatchObject({ first_name: 'Ana', last_name: 'Blücher' });
    const changes = `select metadata from events where action = 'identity.updated' and resource_id = (select id::text from identities where email = $1)`;
    expect(await world.query(changes, [email])).toHaveLength(1);
  });

  test('a person of production, whose profile follows no test Environment’s provider', async () => {
    const there = await place({ attributeMapping: { first_name: 'given_name' } });
    const { login, email } = somebody({ given_name: 'QA tester' });
    const live = await newOther(world, there.environment, { type: 'production' });
    const staging = await newOther(world, there.environment, { name: 'Staging' });
    const { id } = await there.environment.newIdentity({ email, firstName: 'Ana', isMember: false });
    await live.join(id);
    for (let i = 0; i < 2; i++) expect(await enter(there, login)).toBe('in');
    expect(await identitiesWith(email)).toMatchObject([{ id, first_name: 'Ana' }]);
    await world.query('delete from environment_memberships where environment_id = $1', [live.environmentId]);
    await staging.join(id);
    expect(await enter(there, login)).toBe('in');
    expect((await identitiesWith(email))[0]).toMatchObject({ first_name: 'QA tester' });
  });

  test('a person named by the provider of a test Environment, without a change of how they sign in to production', async () => {
    const there = await place();
    const { login, email } = somebody();
    const live = await newOther(world, there.environment, { type: 'production' });
    const { id } = await there.environment.newIdentity({ email, emailVerifiedAt: null, isMember: false });
    await live.join(id);
    const person = async () =>
      (
        await world.query<{ password: string | null; verified: Date | null }>(
          'select password_hash as password, email_verified_at as verified from identities where id = $1',
          [id],
        )
      )[0];
    for (let i = 0; i < 2; i++) expect(await enter(there, login)).toBe('in');
    expect(await person()).toEqual({ password: expect.any(String), verified: null });
    // Since nothing ends for them, somebody else who has the address by now does not become them.
    idp.people.set(`next-${login}`, { email, email_verified: true });
    expect(await enter(there, `next-${login}`)).toEqual([403, 'sso.subject_mismatch']);
    // Production's provider names them as theirs, and nobody else knows a password of the identity.
    await world.query(`update environments set type = 'production' where id = $1`, [there.environment.environmentId]);
    await world.query('delete from sso_links where identity_id = $1', [id]);
    expect(await enter(there, login)).toBe('in');
    expect(await person()).toEqual({ password: null, verified: expect.any(Date) });
  });

  test('a person created for tests, with a claimed address, who brings nothing of it to production', async () => {
    const there = await place();
    const { login, email } = somebody();
    const { id } = await there.environment.newIdentity({ email, isMember: false });
    await world.query('update identities set verified_by_word = true where id = $1', [id]);
    await world.query(`update environments set type = 'production' where id = $1`, [there.environment.environmentId]);
    const staging = await newOther(world, there.environment, { name: 'Staging' });
    await staging.join(id);
    await plantFactors(world.query, id);
    expect(await enter(there, login)).toBe('in');
    expect(await identitiesWith(email)).toMatchObject([
      { id, password_hash: null, email_verified_at: expect.any(Date) },
    ]);
    expect(await credentialsOf(world.query, id)).toEqual({ ...noCredentials, links: 1 });
    // Once they have signed in, what they choose stays.
    await world.query(`update identities set password_hash = 'of their own' where id = $1`, [id]);
    await world.query('delete from sso_links where identity_id = $1', [id]);
    expect(await enter(there, login)).toBe('in');
    expect(await identitiesWith(email)).toMatchObject([{ id, password_hash: 'of their own' }]);
  });

  test('nobody whose erasure is under way', async () => {
    const there = await place();
    const [{ login, email }, other] = [somebody(), somebody()];
    for (const one of [login, other.login]) expect(await enter(there, one)).toBe('in');
    const erasing = `
      insert into erasures (id, account_id, identity_id, status, actor_type, correlation_id, created_at)
      select gen_random_uuid(), account_id, id, 'running', 'system', gen_random_uuid(), now() from identities where email = $1`;
    await world.query(erasing, [email]);
    expect(await enter(there, login)).toEqual([403, 'sso.identity_unknown']);
    expect(await enter(there, other.login)).toBe('in');
    await world.query(`update erasures set status = 'cancelled', ended_at = now() where account_id = $1`, [
      there.environment.accountId,
    ]);
    expect(await enter(there, login)).toBe('in');
  });
});

describe('the gate', () => {
  test('an organization that requires SSO accepts its own connection, also from an earlier session', async () => {
    const { environment, client, organization, connection } = await place();
    const { login, email } = somebody();
    const ana = await environment.newIdentity({ email });
    const other = await newOrganization(world, environment, { members: [ana] });
    const browser = world.browser();
    expect(codeIn(await walk(browser, authorizeUrl(client, { login_hint: email }), login))).toBeTruthy();
    await setPolicy(world, organization, { require_sso: true });
    expect(codeIn(await browser.get(authorizeUrl(client)))).toBeTruthy();
    // Another organization's provider does not decide about this one's members.
    const its = await newOidcConnection(world, environment, idp, {
      id: nextConnectionId(),
      organizationId: other.id,
    });
    await setPolicy(world, other, { require_sso: true });
    const barred = await browser.get(authorizeUrl(client));
    expect(barred.statusCode).toBe(403);
    expect(barred.body).toContain(its.id);
    expect(barred.body).toContain(connection.id);
  });

  test('a password is not enough, and the page leads to the provider, which is', async () => {
    const { environment, client, organization, connection: organizationsOwn } = await place();
    const { login, email } = somebody();
    const ana = await environment.newIdentity({ email });
    await newMember(environment, organization, ana);
    await setPolicy(world, organization, { require_sso: true });
    const browser = world.browser();
    const page = await browser.submit(await browser.get(authorizeUrl(client)), { email, password });
    expect(page.statusCode).toBe(403);
    const link = /<a class="button" href="([^"]+)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(codeIn(await walk(browser, link, login))).toBeTruthy();
    const script = await world
      .browser()
      .post(authorizeUrl(client), { email, password }, { accept: 'application/json' });
    expect(script.json()).toMatchObject({
      error: 'sso_required',
      sso_connections: [{ url: expect.stringContaining(organizationsOwn.id) }],
    });
  });

  test('a client with its own pages gets the provider after the right password', async () => {
    const { environment, client, organization, connection } = await place();
    const ana = await environment.newIdentity();
    await newMember(environment, organization, ana);
    await setPolicy(world, organization, { require_sso: true });
    const { error } = (await apiOf(world).login(client, ana)).json();
    expect(error).toMatchObject({
      code: 'sso_required',
      details: [{ field: 'connection_id', code: connection.id }],
    });
  });

  test('an organization that does not allow SSO cannot be entered by it', async () => {
    const { client, organization } = await place();
    await setPolicy(world, organization, { allowed_methods: ['password'] });
    const { login, email } = somebody();
    const page = await walk(world.browser(), authorizeUrl(client, { login_hint: email }), login);
    expect(page.statusCode).toBe(403);
  });

  test('our second factor is required unless the provider reports two', async () => {
    const { client } = await place({}, { mfaPolicy: 'required', mfaGracePeriodDays: 0 });
    const [one, two] = [somebody({ amr: ['pwd'] }), somebody({ amr: ['pwd', 'otp', 'mfa'] })];
    const page = await walk(world.browser(), authorizeUrl(client, { login_hint: one.email }), one.login);
    expect([page.statusCode, page.body.includes('action="/oauth/mfa')]).toEqual([200, true]);
    const done = await walk(world.browser(), authorizeUrl(client, { login_hint: two.email }), two.login);
    expect(codeIn(done)).toBeTruthy();
    const [session] = await world.query(
      `select acr, amr from sessions s join identities i on i.id = s.identity_id where email = $1`,
      [two.email],
    );
    expect(session).toEqual({ acr: 'urn:gatehouse:aal2', amr: ['mfa', 'otp', 'pwd'] });
  });

  test('max_age is compared with the provider’s time', async () => {
    const { client } = await place();
    const { login, email } = somebody();
    const more = { login_hint: email, max_age: '600' };
    expect(codeIn(await walk(world.browser(), authorizeUrl(client, more), login))).toBeTruthy();
  });
});

describe('what is refused', () => {
  test('an answer in another browser, and a state that nobody has given out', async () => {
    const { client } = await place();
    const { login } = somebody();
    const [ana, eve] = [world.browser(), world.browser()];
    const away = await ana.get(authorizeUrl(client, { login_hint: 'a@acme.example' }));
    const back = (await signInThere(String(away.headers.location), login)).replace(baseUrl, '');
    await eve.get(authorizeUrl(client, { login_hint: 'a@acme.example' })); // has her own cookie
    const answered = await eve.get(back);
    const complete = String(answered.headers.location);
    expect(failureIn(await eve.get(complete))).toEqual([400, 'sso.stale']);
    // An attacker who began it knows the request, and may have sent another person to the provider (RFC 9700 §4.7).
    const [known] = complete.split('&');
    const again = String((await ana.get(`${back}&x=1`)).headers.location);
    expect(again.split('&')[0]).toBe(known);
    for (const guess of [known, `${known}&answer=${'x'.repeat(43)}`, again])
      expect(failureIn(await ana.get(String(guess)))).toEqual([400, 'sso.stale']);
    // It still works for both in one: the browser that began it, with what the returning browser got.
    expect(codeIn(await ana.get(complete))).toBeTruthy();

    const [path = ''] = back.split('?');
    for (const query of ['', '?state=x', `?state=${'x'.repeat(43)}`, `?state=a&state=b`, '?error=x'])
      expect(failureIn(await ana.get(`${path}${query}`))).toEqual([400, 'sso.stale']);
    for (const query of ['', '?request=x', `?request=${uuidv7()}`])
      expect(failureIn(await ana.get(`/sso/complete${query}`))).toEqual([400, 'sso.stale']);
  });

  test('an answer at another connection’s callback, also of the same account, or too late', async () => {
    const { client, environment } = await place();
    const { connection: elsewhere } = await place();
    const beside = await newOidcConnection(world, environment, idp, { name: 'Another provider' });
    const { login } = somebody();
    const browser = world.browser();
    const away = await browser.get(authorizeUrl(client, { login_hint: 'a@acme.example' }));
    const back = (await signInThere(String(away.headers.location), login)).replace(baseUrl, '');
    for (const { id } of [beside, elsewhere])
      expect(failureIn(await browser.get(back.replace(/oidc\/[^/]+/, `oidc/${id}`)))).toEqual([400, 'sso.stale']);
    world.wait(minutes(61));
    expect(failureIn(await browser.get(back))).toEqual([400, 'sso.stale']);
    world.wait(-minutes(61));
    // None of them has used up the state.
    const complete = String((await browser.get(back)).headers.location);
    expect(codeIn(await browser.get(complete))).toBeTruthy();
  });

  test('a late answer: within the hour, the browser that began the sign-in is sent to the provider again, and no other browser is', async () => {
    const { client } = await place();
    const { login } = somebody();
    const browser = world.browser();
    const url = authorizeUrl(client, { login_hint: 'a@acme.example', state: 'kept' });
    const back = (await signInThere(String((await browser.get(url)).headers.location), login)).replace(baseUrl, '');
    world.wait(minutes(11));
    const complete = String((await browser.get(back)).headers.location);
    expect(failureIn(await world.browser().get(complete))).toEqual([400, 'sso.stale']);
    const again = String((await browser.get(complete)).headers.location);
    expect(again).toContain('/oauth/authorize?');
    expect(new URL(again, baseUrl).searchParams.get('state')).toBe('kept');
    const anew = String((await browser.get(again)).headers.location);
    const answered = await browser.get((await signInThere(anew, login)).replace(baseUrl, ''));
    expect(codeIn(await browser.get(String(answered.headers.location)))).toBeTruthy();
    world.wait(-minutes(11));
  });

  test('a recovery code is offered if a provider fails, and not to a person whom the organization does not let in', async () => {
    const { client, organization, connection } = await place({ jitProvisioningEnabled: false });
    await setPolicy(world, organization, { require_sso: true });
    const { login } = somebody();
    const offered = async (status: 'active' | 'disabled') => {
      const browser = world.browser();
      const away = await browser.get(authorizeUrl(client, { organization: organization.slug }));
      const back = (await signInThere(String(away.headers.location), login)).replace(baseUrl, '');
      await setStatus(connection, status);
      const page = await browser.get(String((await browser.get(back)).headers.location));
      return [...failureIn(page), page.body.includes('method=recovery')];
    };
    expect(await offered('active')).toEqual([403, 'sso.identity_unknown', false]);
    expect(await offered('disabled')).toEqual([403, 'sso.connection_disabled', true]);
  });

  test('an answer after the connection was disabled; the page leads back without circles', async () => {
    const { environment, client, connection } = await place();
    const { login } = somebody();
    await setDefault(environment, connection.id);
    const browser = world.browser();
    const away = await browser.get(authorizeUrl(client, { login_hint: 'a@acme.example' }));
    const back = (await signInThere(String(away.headers.location), login)).replace(baseUrl, '');
    await setStatus(connection, 'disabled');
    const page = await browser.get(String((await browser.get(back)).headers.location));
    expect(failureIn(page)).toEqual([403, 'sso.connection_disabled']);
    const links = [...page.body.matchAll(/<a class="button[^"]*" href="([^"]+)"/g)].map(([, url]) => url ?? '');
    expect(links).toHaveLength(2);
    await setStatus(connection, 'active');
    expect((await browser.get((links[1] ?? '').replaceAll('&amp;', '&'))).statusCode).toBe(200);
  });

  test('nobody enters by an inactive organization or one below an inactive node, nor returns to it', async () => {
    const { client, organization } = await place();
    const { login } = somebody();
    const query = authorizeUrl(client).replace('/oauth/authorize?', '');
    const byId = async () => {
      const [{ id } = { id: '' }] = await world.query<{ id: string }>(
        'select id from sso_connections where organization_id = $1',
        [organization.id],
      );
      return world.browser().get(`/oauth/sso?${query}&connection_id=${id}`);
    };
    expect(locationOf(await byId()).origin).toBe(idp.issuer);
    expect(organization.path).toHaveLength(2);
    for (const node of organization.path) {
      const browser = world.browser();
      const wayBack = async () => {
        const away = await browser.get(authorizeUrl(client, { login_hint: 'a@acme.example' }));
        return (await signInThere(String(away.headers.location), login)).replace(baseUrl, '');
      };
      const [unanswered, answered] = [await wayBack(), await browser.get(await wayBack())];
      await setNode(node, 'inactive');
      expect((await byId()).statusCode).toBe(400);
      for (const answer of [await browser.get(unanswered), answered])
        expect(failureIn(await browser.get(String(answer.headers.location)))).toEqual([403, 'sso.connection_disabled']);
      await setNode(node, 'active');
    }
    expect(
      codeIn(await walk(world.browser(), authorizeUrl(client, { login_hint: 'a@acme.example' }), login)),
    ).toBeTruthy();
  });

  test('a person whom the provider refuses is told so, and it does not count as a failure', async () => {
    const { client, connection } = await place();
    const page = await walk(world.browser(), authorizeUrl(client, { login_hint: 'a@acme.example' }), 'nobody there');
    expect(failureIn(page)).toEqual([403, 'sso.provider_error']);
    const [row] = await world.query('select consecutive_failures, status from sso_connections where id = $1', [
      connection.id,
    ]);
    expect(row).toEqual({ consecutive_failures: 0, status: 'active' });
  });

  test('the request ID on the page is that of its row of the audit log, whichever request recorded it', async () => {
    const { client, connection } = await place();
    const stranger = `eve@${uuidv7()}.example`;
    idp.people.set(stranger, { email: stranger, email_verified: true });
    for (const [login, code] of [
      ['nobody there', 'provider_error'],
      [stranger, 'domain_not_verified'],
    ] as const) {
      const page = await walk(world.browser(), authorizeUrl(client, { login_hint: 'a@acme.example' }), login);
      expect(failureIn(page)).toEqual([403, `sso.${code}`]);
      const [, id] = /<dd class="code">([0-9a-f-]{36})</.exec(page.body) ?? [];
      const rows = await world.query(
        `select metadata->>'reason' as reason from events where correlation_id = $1 and metadata->>'connection_id' = $2`,
        [id, connection.id],
      );
      expect(rows).toEqual([{ reason: code }]);
    }
  });

  test('ten answers to a client that the provider refuses disable the connection', async () => {
    const { client, connection } = await place({ oidcClientSecretSealed: null });
    const { login } = somebody();
    for (let i = 0; i < 10; i += 1) {
      const page = await walk(world.browser(), authorizeUrl(client, { login_hint: 'a@acme.example' }), login);
      expect(failureIn(page)).toEqual([403, 'sso.client_refused']);
    }
    const [row] = await world.query('select consecutive_failures, status from sso_connections where id = $1', [
      connection.id,
    ]);
    expect(row).toEqual({ consecutive_failures: 10, status: 'auto_disabled' });
    expect((await world.browser().get(authorizeUrl(client, { login_hint: 'a@acme.example' }))).statusCode).toBe(200);
  });

  test('an unreachable provider is a page that says so', async () => {
    const { client, connection } = await place({ oidcDiscoveryUrl: 'http://127.0.0.1:9/' });
    const page = await world.browser().get(authorizeUrl(client, { login_hint: 'a@acme.example' }));
    expect([...failureIn(page), page.headers['retry-after']]).toEqual([503, 'sso.provider_unreachable', '30']);
    const [row] = await world.query('select consecutive_failures from sso_connections where id = $1', [connection.id]);
    expect(row).toEqual({ consecutive_failures: 0 });
  });
});

const setDefault = ({ environmentId }: TestEnvironment, id: string) =>
  world.db
    .transaction('system', (tx) => tx.update(EnvironmentSettings, { environmentId }, { defaultSsoConnectionId: id }))
    .then(forget);
const setStatus = ({ id }: SsoConnection, status: SsoConnection['status']) =>
  world.db.transaction('system', (tx) => tx.update(SsoConnection, { id }, { status })).then(forget);
const setNode = (id: string, status: NodeStatus) =>
  world.db.transaction('system', (tx) => tx.update(Node, { id }, { status })).then(forget);
/** Waits for a process's cache of a client, of at most a second. */
const forget = () => world.wait(2000);
const newMember = ({ accountId, environmentId }: TestEnvironment, { id }: TestOrganization, ana: { id: string }) =>
  world.db.transaction('system', (tx) =>
    tx.insert(OrganizationMember, {
      organizationId: id,
      identityId: ana.id,
      accountId,
      environmentId,
      createdAt: world.now(),
    }),
  );
