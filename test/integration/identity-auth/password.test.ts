import { hours } from '../../../src/platform/clock.js';
import { apiOf, bearer, shapeOf } from '../../support/identity-auth.js';
import { lastLink, waitingMails } from '../../support/identity-mails.js';
import { password, type TestEnvironment } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';

const provider = await newProvider();
const api = apiOf(provider);
afterAll(() => provider.close());

const next = 'another long password';

async function someone() {
  const place = await provider.newEnvironment();
  return { place, client: await place.newClient(), ana: await place.newIdentity() };
}
const mailedToken = async ({ environmentId }: TestEnvironment): Promise<string> =>
  new URL(await lastLink(provider, environmentId), provider.baseUrl).searchParams.get('token') ?? '';

const withoutPasswords = ({ environmentId }: TestEnvironment) =>
  provider.query(
    'update environment_settings set password_login_enabled = false, email_otp_login_enabled = true where environment_id = $1',
    [environmentId],
  );

describe('changing the own password', () => {
  const change = (token: string, body: object) => api.put('/password', body, bearer(token));

  test('requires the current one, keeps this session, ends all others, and mails a notice', async () => {
    const { place, client, ana } = await someone();
    const [here, there] = [await api.signedIn(client, ana), await api.signedIn(client, ana)];
    const changed = await change(here.access_token, { current_password: password, new_password: next });
    expect(changed.statusCode).toBe(200);
    expect((await api.get('/me', bearer(here.access_token))).statusCode).toBe(200);
    expect((await api.get('/me', bearer(there.access_token))).statusCode).toBe(401);
    const refresh = (token: string) => api.post('/refresh', { client_id: client.clientId, refresh_token: token });
    expect((await refresh(here.refresh_token)).statusCode).toBe(200);
    expect((await refresh(there.refresh_token)).statusCode).toBe(401);
    expect((await api.login(client, ana)).statusCode).toBe(401);
    expect((await api.login(client, ana, { password: next })).statusCode).toBe(200);
    const mails = await waitingMails(provider, place.environmentId);
    expect(mails.map(({ template }) => template)).toEqual(['identity-password-changed']);
  });

  test('works in a session that lives on by its refresh token', async () => {
    const { client, ana } = await someone();
    const { refresh_token: token } = await api.signedIn(client, ana);
    provider.wait(hours(13));
    const { data } = (await api.post('/refresh', { client_id: client.clientId, refresh_token: token })).json();
    const changed = await change(data.access_token, { current_password: password, new_password: next });
    expect(changed.statusCode).toBe(200);
  });

  test.each([
    ['wrong', { current_password: 'wrong', new_password: next }, 400, 'password.wrong'],
    ['short', { current_password: password, new_password: 'short' }, 400, 'validation.failed'],
    ['guessable', { current_password: password, new_password: 'acme4acme' }, 400, 'password.context_specific'],
    ['missing', { new_password: next }, 400, 'validation.failed'],
  ])('is refused if something is %s', async (_, body, status, code) => {
    const { client, ana } = await someone();
    const { access_token: token } = await api.signedIn(client, ana);
    const refused = await change(token, body);
    expect([refused.statusCode, refused.json().error.code]).toEqual([status, code]);
    expect((await api.login(client, ana)).statusCode).toBe(200);
  });

  test('is an unknown path if the environment does not allow passwords', async () => {
    const { place, client, ana } = await someone();
    const { access_token: token } = await api.signedIn(client, ana);
    await withoutPasswords(place);
    const refused = await change(token, { current_password: password, new_password: next });
    expect([refused.statusCode, refused.json().error.code]).toEqual([404, 'route.not_found']);
  });

  test('is refused to a person without one: an access token alone sets no password', async () => {
    const { client, ana } = await someone();
    const { access_token: token } = await api.signedIn(client, ana);
    await provider.query('update identities set password_hash = null where id = $1', [ana.id]);
    const refused = await change(token, { current_password: '', new_password: next });
    expect([refused.statusCode, refused.json().error.code]).toEqual([400, 'password.wrong']);
  });
});

describe('a forgotten password', () => {
  const forgot = (client: { clientId: string }, email: string) =>
    api.post('/password/forgot', { client_id: client.clientId, email });
  const reset = (client: { clientId: string }, token: string, chosen = next) =>
    api.post('/password/reset', { client_id: client.clientId, token, password: chosen });

  test('gets the same answer for every address, and a mail to those that are known here', async () => {
    const { place, client, ana } = await someone();
    const answers = [await forgot(client, ana.email), await forgot(client, 'nobody@example.com')];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
    expect(answers[0]?.json()).toEqual(answers[1]?.json());
    const mails = await waitingMails(provider, place.environmentId);
    expect(mails.map(({ template, to }) => [template, to])).toEqual([['identity-password-reset', ana.email]]);
    expect(await lastLink(provider, place.environmentId)).toMatch(/^\/oauth\/password\/reset\?token=[\w-]{43}$/);
  });

  test('is mailed however the address’s domain is typed', async () => {
    const { place, client, ana } = await someone();
    const name = `ida-${ana.id}`;
    await place.newIdentity({ email: `${name}@xn--bcher-kva.example` });
    expect((await forgot(client, `${name}@bücher.example`)).statusCode).toBe(200);
    const mails = await waitingMails(provider, place.environmentId);
    expect(mails.map(({ to }) => to)).toEqual([`${name}@xn--bcher-kva.example`]);
  });

  test('is replaced by the link’s token, once, and every session ends', async () => {
    const { place, client, ana } = await someone();
    const { access_token: token } = await api.signedIn(client, ana);
    await forgot(client, ana.email);
    const link = await mailedToken(place);
    const short = await reset(client, link, 'short');
    expect([short.statusCode, short.json().error.details[0].field]).toEqual([400, 'password']);
    const guessable = await reset(client, link, ana.email);
    expect([guessable.statusCode, guessable.json().error.code]).toEqual([400, 'password.context_specific']);
    expect((await reset(client, link)).statusCode).toBe(200);
    expect((await api.get('/me', bearer(token))).statusCode).toBe(401);
    expect((await api.login(client, ana, { password: next })).statusCode).toBe(200);
    const again = await reset(client, link);
    expect([again.statusCode, again.json().error.code]).toEqual([400, 'password.link_invalid']);
  });

  test('is not replaced late, by another environment’s client, or by a made-up token', async () => {
    const { place, client, ana } = await someone();
    const other = await provider.newEnvironment();
    await forgot(client, ana.email);
    const link = await mailedToken(place);
    const refused = [
      await reset(await other.newClient(), link),
      await reset(client, 'A'.repeat(43)),
      await reset(client, ''),
    ];
    provider.wait(hours(1));
    refused.push(await reset(client, link));
    for (const one of refused) expect([one.statusCode, one.json().error.code]).toEqual([400, 'password.link_invalid']);
    expect((await reset({ clientId: 'unknown' }, link)).statusCode).toBe(401);
  });

  test('gets the same answer and no mail if the environment does not allow passwords; an earlier link sets none', async () => {
    const { place, client, ana } = await someone();
    await forgot(client, ana.email);
    const link = await mailedToken(place);
    const answered = (await forgot(client, 'nobody@example.com')).json();
    await withoutPasswords(place);
    for (const email of [ana.email, 'nobody@example.com'])
      expect((await forgot(client, email)).json()).toEqual(answered);
    expect(await waitingMails(provider, place.environmentId)).toEqual([]);
    const refused = await reset(client, link);
    expect([refused.statusCode, refused.json().error.code]).toEqual([400, 'password.link_invalid']);
    expect((await provider.browser().get(`/oauth/password/reset?token=${link}`)).statusCode).toBe(400);
    const [kept] = await provider.query('select password_changed_at from identities where id = $1', [ana.id]);
    expect(kept).toEqual({ password_changed_at: ana.passwordChangedAt });
  });

  test('has a page that opens from the mail without an authorization request', async () => {
    const { place, client, ana } = await someone();
    await forgot(client, ana.email);
    const page = await provider.browser().get(await lastLink(provider, place.environmentId));
    expect(page.statusCode).toBe(200);
    expect(page.headers['content-type']).toMatch(/^text\/html/);
  });

  test('is refused to unknown clients', async () => {
    const { ana } = await someone();
    const refused = await forgot({ clientId: 'unknown' }, ana.email);
    expect([refused.statusCode, refused.json().error.code]).toEqual([401, null]);
  });
});

describe('confirming an address', () => {
  /** Signs a person up at the hosted pages; returns the token of their mail. */
  async function signedUp() {
    const place = await provider.newEnvironment({ allowSelfSignup: true });
    const client = await place.newClient();
    const email = `eva-${place.environmentId}@example.com`;
    const found = await provider.provider.clients.find(client.clientId);
    if (!found) throw new Error('the client is there');
    const request = { client: found, email, password, firstName: 'Eva', lastName: 'Ernst' };
    await provider.logins.signUps.request({ ...request, locale: 'en', parameters: {} });
    return { place, client, email, token: await mailedToken(place) };
  }
  const confirm = (client: { clientId: string }, token: string, chosen?: string) =>
    api.post('/verify-email', { client_id: client.clientId, token, ...(chosen && { password: chosen }) });

  test('requires the mail’s token with the sign-up’s password, once', async () => {
    const { client, email, token } = await signedUp();
    expect((await api.login(client, { email })).json().error.code).toBe('identity.email_unverified');
    for (const wrong of [undefined, 'wrong']) {
      const refused = await confirm(client, token, wrong);
      expect([refused.statusCode, refused.json().error.code]).toEqual([400, 'password.wrong']);
    }
    const other = await provider.newEnvironment();
    const foreign = await confirm(await other.newClient(), token, password);
    expect([foreign.statusCode, foreign.json().error.code]).toEqual([400, 'identity.link_invalid']);
    expect((await confirm(client, token, password)).statusCode).toBe(200);
    expect((await api.login(client, { email })).statusCode).toBe(200);
    const again = await confirm(client, token, password);
    expect([again.statusCode, again.json().error.code]).toEqual([400, 'identity.link_invalid']);
  });

  test('by GET leads to the page, and consumes nothing', async () => {
    const { token } = await signedUp();
    const answer = await api.get(`/verify-email?token=${token}`);
    expect([answer.statusCode, answer.headers.location]).toEqual([303, `/oauth/verify-email?token=${token}`]);
    const page = await provider.browser().get(String(answer.headers.location));
    expect(page.statusCode).toBe(200);
  });

  test.each(['', 'x', 'A'.repeat(43)])('a made-up token %j is refused', async (token) => {
    const { client } = await someone();
    const refused = shapeOf(await confirm(client, token, password));
    expect(refused).toMatchObject({ statusCode: 400, error: { code: 'identity.link_invalid' } });
  });
});
