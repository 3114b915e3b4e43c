import { accountUrl, send } from '../../support/account.js';
import { hidden, totpCode } from '../../support/mfa.js';
import { locationOf } from '../../support/oauth/browser.js';
import { authorizeUrl } from '../../support/oauth/sign-in.js';
import { newOther } from '../../support/other-environment.js';
import { followThroughProvider, newSsoPlace, startSsoWorld } from '../../support/sso.js';

/** A test Environment's identity provider changes nothing for a person who is in production (docs/decisions/0077). */

const { idp, world, stop, nextConnectionId, newPerson } = await startSsoWorld(5);
afterAll(() => stop());

type Settings = Parameters<typeof newSsoPlace>[3];

/** Creates a person of production whom a test Environment's provider names, and a browser that follows redirects. */
async function named(settings: Settings, { isInProduction = true } = {}) {
  const { client, environment } = await newSsoPlace(world, idp, { id: nextConnectionId() }, settings);
  const { email, login } = newPerson();
  const production = await newOther(world, environment, { type: 'production' });
  const { id } = await environment.newIdentity({ email, passwordHash: null, isMember: false });
  if (isInProduction) await production.join(id);
  const browser = world.browser();
  const jar = new Map<string, string>();
  const walk = (url: string) => followThroughProvider(browser, url, { idp, login, jar });
  const signIn = () => walk(authorizeUrl(client, { login_hint: email }));
  return { id, client, browser, walk, signIn };
}
const kindsOf = (id: string) => world.query('select type from mfa_factors where identity_id = $1', [id]);

test('a person who signs in by it sets no password and adds no factor, and the overview says why', async () => {
  const { id, client, browser, walk, signIn } = await named({ mfaPolicy: 'optional' });
  expect(String((await signIn()).headers.location)).toContain('code=');
  const overview = await walk(accountUrl(client));
  expect(overview.body).toContain('you have a production account too');
  expect(overview.body).not.toMatch(/href="\/oauth\/account\/(password|factors|recovery)/);
  for (const page of ['password', 'factors/totp', 'factors/webauthn', 'factors/email-otp']) {
    const told = await walk(accountUrl(client, {}, `/${page}`));
    expect([page, told.statusCode, told.body.includes('Nothing was changed')]).toEqual([page, 200, true]);
  }
  const sent = await send(browser, overview, 'password', { new_password: 'planted by the provider 1' });
  expect(locationOf(sent).searchParams.get('done')).toBe('in_production');
  const asJson = await send(
    browser,
    overview,
    'password',
    { new_password: 'planted by the provider 1' },
    { accept: 'application/json' },
  );
  expect([asJson.statusCode, asJson.json().error]).toEqual([403, 'identity.in_production']);
  expect(await world.query('select password_hash from identities where id = $1', [id])).toEqual([
    { password_hash: null },
  ]);
  expect(await kindsOf(id)).toEqual([]);
});

test('a sign-in that would ask for a factor enrolls none either: it goes on without, as where none is allowed', async () => {
  const { id, signIn } = await named({ mfaPolicy: 'required', mfaGracePeriodDays: 0 });
  const came = await signIn();
  expect(String(came.headers.location)).toContain('code=');
  expect(await kindsOf(id)).toEqual([]);
});

test('a person with a factor that the Environment does not allow uses it all the same, and adds none', async () => {
  const { id, signIn } = await named({ mfaPolicy: 'required', mfaAllowedFactors: ['webauthn'], mfaGracePeriodDays: 0 });
  await world.query(
    `insert into mfa_factors (id, account_id, identity_id, type, label, enrolled_at)
     select gen_random_uuid(), account_id, id, 'email_otp', 'Mail', now() from identities where id = $1`,
    [id],
  );
  const asked = await signIn();
  expect([asked.statusCode, asked.body.includes('<h1>Confirm that it is you</h1>')]).toEqual([200, true]);
  expect(await kindsOf(id)).toEqual([{ type: 'email_otp' }]);
});

test('a person who is only in test Environments adds a factor as usual', async () => {
  const { id, client, browser, walk, signIn } = await named({ mfaPolicy: 'optional' }, { isInProduction: false });
  await signIn();
  const page = await walk(accountUrl(client, {}, '/factors/totp'));
  const secret = (/<dd class="code">([^<]+)</.exec(page.body)?.[1] ?? '').replaceAll(' ', '');
  const code = totpCode(secret, world.now());
  const added = await send(browser, page, 'factors/totp', { enrollment: hidden(page, 'enrollment'), code });
  expect(added.statusCode).toBe(303);
  expect(await kindsOf(id)).toEqual([{ type: 'totp' }]);
});
