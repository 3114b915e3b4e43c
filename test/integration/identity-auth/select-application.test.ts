import { decodeJwt } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import { days, minutes } from '../../../src/platform/clock.js';
import { apiOf, bearer } from '../../support/identity-auth.js';
import { password } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { newOther, type Other } from '../../support/other-environment.js';

const provider = await newProvider();
const api = apiOf(provider);
afterAll(() => provider.close());

/** Signs in a person where they are no member, who is a member of another Application. */
async function waiting(options: Other & { isMember?: boolean; isActive?: boolean } = {}) {
  const place = await provider.newEnvironment();
  const client = await place.newClient();
  const ana = await place.newIdentity({ isMember: options.isMember ?? false, isActive: options.isActive ?? true });
  const other = await newOther(provider, place, options);
  await other.join(ana.id);
  const select = (token: string, more: object = {}) =>
    api.post('/select-application', {
      client_id: other.client.clientId,
      selection_token: token,
      application_id: other.applicationId,
      ...more,
    });
  return { place, client, ana, other, select, token: (await api.signedIn(client, ana)).selection_token };
}

test('a member of another Application is shown which, gets no tokens, and continues there', async () => {
  const place = await provider.newEnvironment();
  const client = await place.newClient();
  const ana = await place.newIdentity({ isMember: false });
  const other = await newOther(provider, place);
  await other.join(ana.id);
  const result = await api.signedIn(client, ana);
  expect(result).toEqual({
    requires_application_selection: true,
    requires_mfa_challenge: false,
    expires_in: 300,
    identity: { id: ana.id, email: ana.email, first_name: 'Ana', last_name: 'Arendt' },
    access_token: null,
    token_type: null,
    applications: [{ id: other.applicationId, name: 'Blog', slug: `blog-${other.applicationId}` }],
    mfa_challenge: null,
    mfa_enrollment_pending: false,
    grace_expires_at: null,
    refresh_token: null,
    scope: null,
    selection_token: expect.any(String),
  });
  const at = provider.now().getTime() / 1000;
  provider.wait(minutes(4));
  const answer = await api.post('/select-application', {
    client_id: other.client.clientId,
    selection_token: result.selection_token,
    application_id: other.applicationId,
    scope: 'openid',
  });
  expect(answer.statusCode).toBe(200);
  const { data } = answer.json();
  expect(data).toMatchObject({ requires_application_selection: false, scope: 'openid' });
  // The tokens keep how and when the password was proved.
  expect(decodeJwt(data.access_token)).toMatchObject({
    sub: ana.id,
    amr: ['pwd'],
    acr: 'urn:gatehouse:aal1',
    auth_time: at,
  });
  const me = (await api.get('/me', bearer(data.access_token))).json().data;
  expect([me.environment.id, me.application.id]).toEqual([other.environmentId, other.applicationId]);
});

test('a person who was deactivated only here may select another Application as well', async () => {
  const { token } = await waiting({ isMember: true, isActive: false });
  expect(token).toEqual(expect.any(String));
});

test('a member of this Application is not asked to choose, wherever else they are a member', async () => {
  const place = await provider.newEnvironment();
  const [client, ana] = [await place.newClient(), await place.newIdentity()];
  await (await newOther(provider, place)).join(ana.id);
  expect(await api.signedIn(client, ana)).toMatchObject({ requires_application_selection: false, applications: null });
});

describe('no Application is offered to', () => {
  test.each<[string, Other & { active?: boolean; otherAccount?: boolean }]>([
    ['members of another type of environment', { type: 'production' }],
    ['members of an environment without password login', { settings: { passwordLoginEnabled: false } }],
    ['members of an environment with a captcha, where this one has none', { settings: { loginRequireCaptcha: true } }],
    ['people who are inactive elsewhere too', { active: false }],
    ['people of another account', { otherAccount: true }],
  ])('%s', async (_, { active = true, otherAccount = false, ...options }) => {
    const place = await provider.newEnvironment();
    const ana = await place.newIdentity({ isMember: false });
    await (await newOther(provider, place, options)).join(ana.id, active);
    const client = await (otherAccount ? await provider.newEnvironment() : place).newClient();
    const refused = await api.login(client, ana);
    expect([refused.statusCode, refused.json().error.code]).toEqual([401, null]);
  });

  test('a person with a wrong password: the answer and the row of the audit log are those of any wrong password', async () => {
    const { place, client, ana } = await waiting();
    const refused = await api.login(client, ana, { password: 'wrong' });
    expect([refused.statusCode, refused.json().error.code]).toEqual([401, null]);
    const rows = await provider.query<{ resource_id: string | null }>(
      `select resource_id from events where action = 'auth.identity_sign_in_failed' and environment_id = $1`,
      [place.environmentId],
    );
    expect(rows).toEqual([{ resource_id: null }]); // no member of this environment
  });
});

describe('a selection token', () => {
  test('works once, also when it is used twice at once', async () => {
    const { select, token } = await waiting();
    const answers = await Promise.all([select(token), select(token), select(token)]);
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 401, 401]);
    expect((await select(token)).statusCode).toBe(401);
  });

  test('is valid for five minutes', async () => {
    const { select, token } = await waiting();
    provider.wait(minutes(5));
    expect((await select(token)).statusCode).toBe(401);
  });

  test('is void after the person has changed their address', async () => {
    const { ana, other, select, token } = await waiting();
    await provider.query('update environment_settings set allow_email_change = true where environment_id = $1', [
      other.environmentId,
    ]);
    const as = bearer((await api.signedIn(other.client, ana)).access_token);
    provider.wait(1);
    expect((await api.post('/email', { email: `new-${ana.email}` }, as)).statusCode).toBe(200);
    const code = await provider.mailedCode('email_change');
    expect((await api.post('/email/confirm', { code }, as)).statusCode).toBe(200);
    const refused = await select(token);
    expect([refused.statusCode, refused.json().error?.code]).toEqual([404, 'application.not_found']);
  });

  test('is void after the password was changed', async () => {
    const { select, token, ana } = await waiting();
    await provider.query('update identities set password_changed_at = $2 where id = $1', [
      ana.id,
      new Date(provider.now().getTime() + 1000),
    ]);
    expect((await select(token)).statusCode).toBe(404);
  });

  test.each(['', 'test.AAAA', `test.${'A'.repeat(400)}`])('that we did not issue (%s) is refused', async (forged) => {
    const { select } = await waiting();
    const refused = await select(forged);
    expect([refused.statusCode, refused.json().error.code]).toEqual([401, null]);
  });

  test('opens only what was offered, and stays valid when something else is requested', async () => {
    const { place, client, other, select, token, ana } = await waiting();
    const elsewhere = await newOther(provider, place, { name: 'Not theirs' });
    const live = await newOther(provider, place, { name: 'Live', type: 'production' });
    await live.join(ana.id);
    const guarded = await newOther(provider, place, { name: 'Guarded', settings: { loginRequireCaptcha: true } });
    await guarded.join(ana.id);
    const mailed = await newOther(provider, place, { name: 'Mailed', settings: { passwordLoginEnabled: false } });
    await mailed.join(ana.id);
    const left = await newOther(provider, place, { name: 'Left' });
    await left.join(ana.id, false);
    const { applications } = await api.signedIn(client, ana);
    expect(applications.map(({ id }) => id)).toEqual([other.applicationId]);

    const foreign = await provider.newEnvironment();
    const foreignClient = await foreign.newClient();
    const beside = [elsewhere, live, guarded, mailed, left].map((one) => ({
      application_id: one.applicationId,
      client_id: one.client.clientId,
    }));
    const wrong: object[] = [
      ...beside,
      { application_id: foreign.applicationId, client_id: foreignClient.clientId },
      { application_id: other.applicationId, client_id: client.clientId },
      { application_id: uuidv7() },
    ];
    for (const more of wrong) {
      const refused = await select(token, more);
      expect([refused.statusCode, refused.json().error.code]).toEqual([404, 'application.not_found']);
    }
    expect((await select(token, { client_id: 'unknown' })).statusCode).toBe(401);
    expect((await select(token)).statusCode).toBe(200);
  });

  test('requires the second factor of the selected environment', async () => {
    const settings = { mfaPolicy: 'required', mfaGracePeriodDays: 7 } as const;
    const { select, token } = await waiting({ settings });
    expect((await select(token)).json().data).toMatchObject({
      mfa_enrollment_pending: true,
      grace_expires_at: new Date(provider.now().getTime() + days(7)).toISOString(),
    });
    const strict = await waiting({ settings: { ...settings, mfaGracePeriodDays: 0 } });
    const refused = await strict.select(strict.token);
    expect([refused.statusCode, refused.json().error.code]).toEqual([403, 'mfa.enrollment_required']);
  });
});

test('a session of one environment is neither visible nor ended from another, though it is the same person’s', async () => {
  const place = await provider.newEnvironment();
  const [client, ana] = [await place.newClient(), await place.newIdentity()];
  const other = await newOther(provider, place);
  await other.join(ana.id);
  const [here, there] = [await api.signedIn(client, ana), await api.signedIn(other.client, ana)];
  const listed = async (token: string) => (await api.get('/sessions', bearer(token))).json().items;
  const [session, ...more] = await listed(there.access_token);
  expect(more).toEqual([]);
  expect(await listed(here.access_token)).toHaveLength(1);
  const refused = await api.delete(`/sessions/${session.id}`, bearer(here.access_token));
  expect([refused.statusCode, refused.json().error.code]).toEqual([404, 'session.not_found']);
  const foreign = { client_id: client.clientId, refresh_token: there.refresh_token };
  expect((await api.post('/refresh', foreign)).statusCode).toBe(401);
  expect((await api.post('/logout', foreign)).statusCode).toBe(204);
  expect((await api.get('/me', bearer(there.access_token))).statusCode).toBe(200);
});

test('an unconfirmed address is reported before anything else', async () => {
  const place = await provider.newEnvironment();
  const ana = await place.newIdentity({ isMember: false, emailVerifiedAt: null });
  await (await newOther(provider, place)).join(ana.id);
  const told = await api.login(await place.newClient(), ana, { password });
  expect([told.statusCode, told.json().error.code]).toEqual([403, 'identity.email_unverified']);
});
