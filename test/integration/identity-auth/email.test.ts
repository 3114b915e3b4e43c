import { changeIdentity } from '../../../src/domain/identities/change.js';
import { hours, minutes } from '../../../src/platform/clock.js';
import { apiOf, bearer } from '../../support/identity-auth.js';
import { type WaitingMail, waitingMails } from '../../support/identity-mails.js';
import { counted, interleaved } from '../../support/interleaving.js';
import { enrollTotp } from '../../support/mfa.js';
import { password, type TestEnvironment } from '../../support/oauth/environment.js';
import { newProvider, type TestProvider } from '../../support/oauth/provider.js';
import { newOrganization } from '../../support/organizations.js';
import { newOther } from '../../support/other-environment.js';
import { newVerifiedDomain } from '../../support/sso.js';

const provider = await newProvider();
const api = apiOf(provider);
afterAll(() => provider.close());

type As = ReturnType<typeof bearer>;
const request = (as: As, email: string) => api.post('/email', { email }, as);
const confirm = (as: As, code: string) => api.post('/email/confirm', { code }, as);
const mailedCode = () => provider.mailedCode('email_change');
const outcomeOf = ({ statusCode, body }: { statusCode: number; body: string }) => [
  statusCode,
  JSON.parse(body).error?.code ?? null,
];
const other = (digits: string) => (digits === '000000' ? '111111' : '000000');

async function someone(settings: Parameters<TestProvider['newEnvironment']>[0] = {}) {
  const place = await provider.newEnvironment({ allowEmailChange: true, ...settings });
  const client = await place.newClient();
  const ana = await place.newIdentity();
  const signedIn = async () => bearer((await api.signedIn(client, ana)).access_token);
  return { place, client, ana, signedIn, as: await signedIn(), wanted: `new-${ana.email}` };
}
const emailOf = async ({ id }: { id: string }) =>
  (await provider.query<{ email: string }>('select email::text from identities where id = $1', [id]))[0]?.email;
const eventsOf = (place: TestEnvironment, like: string) =>
  provider.query<{ action: string; metadata: Record<string, unknown>; actor_id: string; outcome: string }>(
    `select action, metadata, actor_id, outcome from events where environment_id = $1 and action ~ $2 order by created_at, id`,
    [place.environmentId, like],
  );
const briefly = (mails: readonly WaitingMail[]) => mails.map(({ template, to }) => [template, to]);
const mailsOf = async ({ environmentId }: TestEnvironment) => briefly(await waitingMails(provider, environmentId));

describe('a person changes their address', () => {
  test('by a code that is mailed to the new one; this session continues, all others end', async () => {
    const { place, client, ana, as, wanted, signedIn } = await someone();
    const there = await signedIn();
    expect(outcomeOf(await request(as, wanted))).toEqual([200, null]);
    expect(await emailOf(ana)).toBe(ana.email);
    const mails = await waitingMails(provider, place.environmentId);
    expect(briefly(mails)).toEqual([
      ['identity-email-code', wanted],
      ['security-notice', ana.email],
    ]);
    expect(mails[0]?.values.first_name).not.toContain(ana.firstName);
    expect(String(mails[0]?.values.code).replace(' ', '')).toBe(await mailedCode());
    expect(String(mails[1]?.values.what)).toContain('another email address');

    expect(outcomeOf(await confirm(as, await mailedCode()))).toEqual([200, null]);
    const { identity } = (await api.get('/me', as)).json().data;
    expect([identity.email, identity.email_verified]).toEqual([wanted, true]);
    expect((await api.get('/me', there)).statusCode).toBe(401);
    expect((await api.login(client, ana)).statusCode).toBe(401);
    expect((await api.login(client, { email: wanted })).statusCode).toBe(200);
    expect(await mailsOf(place)).toEqual([['identity-email-changed', ana.email]]);
    const changed = (await waitingMails(provider, place.environmentId))[0];
    expect(JSON.stringify(changed?.values)).not.toContain(wanted);
  });

  test('and the application and the audit log are told, without an address', async () => {
    const { place, ana, as, wanted, signedIn } = await someone();
    await signedIn();
    await request(as, wanted);
    await confirm(as, await mailedCode());
    const of = { actor_id: ana.id, outcome: 'success' };
    const events = await eventsOf(place, '^identity\\.(updated|email|sessions)|email_change|emailed_code');
    expect(events).toEqual([
      { ...of, action: 'auth.emailed_code_requested', metadata: { purpose: 'email_change' } },
      { ...of, action: 'auth.identity_email_change_requested', metadata: { email_change_id: expect.any(String) } },
      { ...of, action: 'identity.updated', metadata: { changed: ['email'] } },
      { ...of, action: 'identity.email_verified', metadata: { method: 'own' } },
      {
        ...of,
        action: 'identity.sessions_revoked',
        metadata: { reason: 'email_changed', session_ids: [expect.any(String)] },
      },
    ]);
    const [{ n } = {}] = await provider.query<{ n: number }>(
      'select count(*)::int as n from events e where environment_id = $1 and strpos(e::text, $2) > 0',
      [place.environmentId, wanted],
    );
    expect(n).toBe(0);
  });

  test('and nothing that was mailed to the former address works any longer', async () => {
    const { place, client, ana, as, wanted } = await someone({ emailOtpLoginEnabled: true });
    await api.post('/password/forgot', { client_id: client.clientId, email: ana.email });
    const link = new URL(String((await waitingMails(provider, place.environmentId))[0]?.values.link));
    await request(as, wanted);
    await confirm(as, await mailedCode());
    const token = link.searchParams.get('token');
    const reset = { client_id: client.clientId, token, password: 'another long password' };
    expect((await api.post('/password/reset', reset)).statusCode).toBe(400);
  });

  test('and a code that is sent twice is answered like the first time, a minute long', async () => {
    const { as, ana, wanted, place } = await someone();
    await request(as, wanted);
    const code = await mailedCode();
    const both = await Promise.all([confirm(as, code), confirm(as, code)]);
    expect(both.map(outcomeOf)).toEqual([
      [200, null],
      [200, null],
    ]);
    expect(await emailOf(ana)).toBe(wanted);
    expect(await eventsOf(place, 'email_change_failed|identity.updated')).toHaveLength(1);
    provider.wait(minutes(2));
    expect(outcomeOf(await confirm(as, code))).toEqual([400, 'email_change.code_invalid']);
  });
});

describe('an address that somebody else has', () => {
  test('is answered like a free one; its owner is told, and no code is mailed', async () => {
    const { place, as, ana, wanted } = await someone();
    const owner = await place.newIdentity();
    const [taken, free] = [await request(as, owner.email), await request(as, wanted)];
    expect([taken.statusCode, taken.json()]).toEqual([free.statusCode, free.json()]);
    expect(await mailsOf(place)).toEqual([
      ['identity-email-taken', owner.email],
      ['security-notice', ana.email],
      ['identity-email-code', wanted],
      ['security-notice', ana.email],
    ]);
  });

  test('and any code for it is as wrong as for a free one', async () => {
    const { place, as, wanted } = await someone();
    const owner = await place.newIdentity();
    await request(as, owner.email);
    const taken = await confirm(as, other(await mailedCode()));
    await request(as, wanted);
    const free = await confirm(as, other(await mailedCode()));
    expect(outcomeOf(taken)).toEqual([400, 'email_change.code_invalid']);
    expect(taken.json().error.message).toBe(free.json().error.message);
    const failed = { action: 'auth.identity_email_change_failed', outcome: 'failure' };
    expect(await eventsOf(place, 'email_change_failed')).toMatchObject([failed, failed]);
  });

  test('stays theirs if they got it meanwhile', async () => {
    const { place, as, ana, wanted } = await someone();
    await request(as, wanted);
    const code = await mailedCode();
    await place.newIdentity({ email: wanted.toUpperCase() });
    expect(outcomeOf(await confirm(as, code))).toEqual([409, 'email_change.address_taken']);
    expect(await emailOf(ana)).toBe(ana.email);
  });
});

describe('a code', () => {
  test('is void after five wrong ones, after ten minutes, and after another one', async () => {
    const { as, ana, wanted } = await someone();
    await request(as, wanted);
    const first = await mailedCode();
    for (let tries = 0; tries < 5; tries++) await confirm(as, other(first));
    expect(outcomeOf(await confirm(as, first))).toEqual([400, 'email_change.code_invalid']);
    await request(as, wanted);
    const second = await mailedCode();
    await request(as, `again-${wanted}`);
    if (second !== (await mailedCode()))
      expect(outcomeOf(await confirm(as, second))).toEqual([400, 'email_change.code_invalid']);
    const third = await mailedCode();
    provider.wait(minutes(10));
    expect(outcomeOf(await confirm(as, third))).toEqual([400, 'email_change.code_invalid']);
    expect(await emailOf(ana)).toBe(ana.email);
  });

  test('works only in the session that requested it', async () => {
    const { place, client, as, wanted, signedIn } = await someone();
    await request(as, wanted);
    const code = await mailedCode();
    expect(outcomeOf(await confirm(await signedIn(), code))).toEqual([400, 'email_change.code_invalid']);
    const ben = bearer((await api.signedIn(client, await place.newIdentity())).access_token);
    expect(outcomeOf(await confirm(ben, code))).toEqual([400, 'email_change.code_invalid']);
    expect(outcomeOf(await confirm(as, code))).toEqual([200, null]);
  });

  test('is void after a new password, even one that this session has set', async () => {
    const { as, wanted } = await someone();
    await request(as, wanted);
    provider.wait(1000);
    await api.put('/password', { current_password: password, new_password: 'another long password' }, as);
    expect(outcomeOf(await confirm(as, await mailedCode()))).toEqual([400, 'email_change.code_invalid']);
  });

  const bySupport = ({ place, ana }: Awaited<ReturnType<typeof someone>>, email: string) =>
    provider.db.transaction({ accountId: place.accountId }, (tx) =>
      changeIdentity(tx, place, ana.id, { email, emailVerified: true }, provider.now()),
    );

  test('is void once an administrator has set another address, and not taken for one that was sent twice', async () => {
    const person = await someone();
    await request(person.as, person.wanted);
    await bySupport(person, `support-${person.wanted}`);
    expect(outcomeOf(await confirm(person.as, await mailedCode()))).toEqual([400, 'email_change.code_invalid']);
    expect(await emailOf(person.ana)).toBe(`support-${person.wanted}`);
  });

  test("does not undo an administrator's change, at whatever statement that comes", async () => {
    const run = async (at: number | null) => {
      const person = await someone();
      await request(person.as, person.wanted);
      const code = await mailedCode();
      const change = () => confirm(person.as, code);
      if (at === null) return (await counted(change)).statements;
      const support = `support-${person.wanted}`;
      await interleaved(provider.database.ownerUrl, at, change, () => bySupport(person, support));
      expect([at, await emailOf(person.ana)]).toEqual([at, support]);
      return at;
    };
    const statements = (await run(null)) as number;
    expect(statements).toBeGreaterThan(10);
    for (let at = 1; at <= statements; at++) await run(at);
  });

  test('changes nothing once the environment no longer allows it', async () => {
    const { place, as, wanted, ana } = await someone();
    await request(as, wanted);
    const code = await mailedCode();
    await provider.query('update environment_settings set allow_email_change = false where environment_id = $1', [
      place.environmentId,
    ]);
    expect(outcomeOf(await confirm(as, code))).toEqual([404, 'route.not_found']);
    expect(await emailOf(ana)).toBe(ana.email);
  });
});

describe('who may change it', () => {
  const domain = (place: TestEnvironment, name: string, status = 'verified') =>
    provider.query(
      `insert into sso_domains (id, account_id, domain, token, status, claimed_by_type, claimed_by, created_at, started_at)
       values (gen_random_uuid(), $1, $2, 'token', $3, 'platform_admin', gen_random_uuid(), now(), now())`,
      [place.accountId, name, status],
    );

  /** Has a directory of the Environment provision a person. */
  const provisioned = (place: TestEnvironment, { id }: { id: string }) =>
    provider.query(
      `insert into scim_users (account_id, environment_id, identity_id, directory_id, user_name, user_name_key, attributes,
         made_membership, is_suspended, created_at, updated_at) values ($1, $2, $3, $2, 'ana', 'ana', '{}', true, false, now(), now())`,
      [place.accountId, place.environmentId, id],
    );
  /** Links a person to a provider of the Environment. */
  const linked = (place: TestEnvironment, { id }: { id: string }) =>
    provider.query(
      `with made as (insert into sso_connections (id, account_id, environment_id, scope, type, name, status, owned_by_organization,
           oidc_scopes, created_at, updated_at)
         values (gen_random_uuid(), $1, $2, 'identity', 'oidc', 'Okta', 'active', false, '{}', now(), now()) returning id)
       insert into sso_links (id, account_id, connection_id, subject, identity_id, created_at, last_login_at)
       select gen_random_uuid(), $1, id, '1001', $3, now(), now() from made`,
      [place.accountId, place.environmentId, id],
    );

  test('nobody by default', async () => {
    const place = await provider.newEnvironment();
    const as = bearer((await api.signedIn(await place.newClient(), await place.newIdentity())).access_token);
    expect(outcomeOf(await request(as, 'new@example.org'))).toEqual([404, 'route.not_found']);
  });

  test('people who signed in within the last ten minutes, with a second factor if they have one', async () => {
    const { place, as, ana, client, wanted, signedIn } = await someone({ mfaPolicy: 'off' });
    provider.wait(minutes(11));
    expect(outcomeOf(await request(as, wanted))).toEqual([403, 'auth.reauthentication_required']);
    const anew = await signedIn();
    expect(outcomeOf(await request(anew, wanted))).toEqual([200, null]);
    provider.wait(minutes(9)); // the proof was at the request; the code has its own time
    expect(outcomeOf(await confirm(anew, await mailedCode()))).toEqual([200, null]);
    const weak = bearer((await api.signedIn(client, { email: wanted })).access_token);
    await enrollTotp(provider, place, { ...ana, email: wanted });
    expect(outcomeOf(await request(weak, ana.email))).toEqual([403, 'auth.reauthentication_required']);
  });

  test('nobody whom a directory or an identity provider manages', async () => {
    const scim = await someone();
    await provisioned(scim.place, scim.ana);
    expect(outcomeOf(await request(scim.as, scim.wanted))).toEqual([403, 'email_change.managed']);
    const sso = await someone();
    await linked(sso.place, sso.ana);
    expect(outcomeOf(await request(sso.as, sso.wanted))).toEqual([403, 'email_change.managed']);
  });

  test('anybody else: it does not matter who has a domain in another environment, or whom else a directory or a provider knows', async () => {
    const { place, as, ana, wanted } = await someone();
    const elsewhere = { ...place, ...(await newOther(provider, place)) };
    const organization = await newOrganization(provider, elsewhere);
    await newVerifiedDomain(provider, elsewhere, ana.email.split('@')[1] as string, organization.id);
    await linked(place, await place.newIdentity());
    await provisioned(place, await place.newIdentity());
    expect(outcomeOf(await request(as, wanted))).toEqual([200, null]);
  });

  test('nobody from or to a domain that was verified, whether or not somebody has the address', async () => {
    const { place, as, ana, wanted } = await someone();
    await domain(place, 'acme.example');
    await place.newIdentity({ email: 'bea@acme.example' });
    for (const email of ['bea@acme.example', 'Nobody@ACME.example'])
      expect(outcomeOf(await request(as, email))).toEqual([403, 'email_change.domain_managed']);
    await domain(place, 'example.com', 'lapsed');
    expect(outcomeOf(await request(as, wanted))).toEqual([200, null]);
    await provider.query(`update sso_domains set status = 'verified' where account_id = $1`, [place.accountId]);
    expect(outcomeOf(await confirm(as, await mailedCode()))).toEqual([403, 'email_change.managed']);
    expect(await emailOf(ana)).toBe(ana.email);
    expect(await mailsOf(place)).not.toContainEqual([expect.anything(), 'bea@acme.example']);
  });

  test('people of a production environment only where that allows it, and there', async () => {
    const { place, as, ana, wanted } = await someone();
    const production = await newOther(provider, place, { type: 'production' });
    await production.join(ana.id);
    expect(outcomeOf(await request(as, wanted))).toEqual([403, 'identity.in_production']);
    const there = bearer((await api.signedIn(production.client, ana)).access_token);
    expect(outcomeOf(await request(there, wanted))).toEqual([404, 'route.not_found']);
    await provider.query('update environment_settings set allow_email_change = true where environment_id = $1', [
      production.environmentId,
    ]);
    await provider.query('update environment_settings set allow_email_change = false where environment_id = $1', [
      place.environmentId,
    ]);
    expect(outcomeOf(await request(there, wanted))).toEqual([200, null]);
    const another = await newOther(provider, place, { type: 'production' });
    await another.join(ana.id);
    expect(outcomeOf(await request(there, wanted))).toEqual([404, 'route.not_found']);
  });

  test.each([
    ['their own address', (email: string) => email.toUpperCase(), 409, 'email_change.unchanged'],
    ['no address', () => 'not an address', 400, 'validation.failed'],
  ])('not to %s', async (_, typed, status, code) => {
    const { as, ana } = await someone();
    expect(outcomeOf(await request(as, typed(ana.email)))).toEqual([status, code]);
  });
});

test('requests are limited by person and by address, and codes by person', async () => {
  const limited = await newProvider({ rateLimits: true, beside: provider, startsAt: provider.now() });
  const its = apiOf(limited);
  try {
    const { as, wanted, client, place } = await someone();
    const ask = async (by: As, email: string) => (await its.post('/email', { email }, by)).statusCode;
    const byPerson: number[] = [];
    for (let count = 0; count < 6; count++) byPerson.push(await ask(as, `${count}-${wanted}`));
    expect(byPerson).toEqual([200, 200, 200, 200, 200, 429]);
    const byAddress: number[] = [];
    for (let count = 0; count < 4; count++) {
      const ben = bearer((await api.signedIn(client, await place.newIdentity())).access_token);
      byAddress.push(await ask(ben, count % 2 ? wanted : wanted.toUpperCase()));
    }
    expect(byAddress).toEqual([200, 200, 200, 429]);
    const tries: number[] = [];
    const wrong = { code: other(await mailedCode()) };
    for (let count = 0; count < 11; count++) tries.push((await its.post('/email/confirm', wrong, as)).statusCode);
    expect(tries).toEqual([...Array(10).fill(400), 429]);
  } finally {
    await limited.close();
  }
});

test('the former address is kept for its mail, and only for a day', async () => {
  const { as, ana, wanted, place } = await someone();
  await request(as, wanted);
  await confirm(as, await mailedCode());
  const rows = await provider.query<{ email: string; left: string }>(
    `select email::text, extract(epoch from expires_at - consumed_at)::int as left from emailed_codes where identity_id = $1`,
    [ana.id],
  );
  expect(rows).toEqual([{ email: ana.email, left: hours(24) / 1000 }]);
  expect(await mailsOf(place)).toEqual([['identity-email-changed', ana.email]]);
});
